// A 16-byte identifier: entity ids, cluster ids, and values of type uuid.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <looseleaf/export.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace looseleaf {

struct LOOSELEAF_EXPORT Uuid {
  std::array<std::uint8_t, 16> bytes{};  // big-endian, as written

  // Accepts 32 hexadecimal digits in any case, with optional dashes between digits, and nothing else.
  [[nodiscard]] static std::optional<Uuid> parse(std::string_view text);
  // Makes a new version 7 UUID (RFC 9562): 48 bits of Unix time in milliseconds, then random bits. Thread-safe.
  [[nodiscard]] static Uuid make_v7();
  // Takes exactly 16 bytes, as they are stored. Returns nothing for any other length.
  [[nodiscard]] static std::optional<Uuid> from_bytes(std::string_view bytes);

  auto operator<=>(const Uuid&) const = default;
  bool operator==(const Uuid&) const = default;
};

// Returns 32 lower-case hexadecimal digits.
[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(const Uuid& uuid);

}  // namespace looseleaf

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

  // 32 hexadecimal digits in any case, with dashes allowed between any two digits; nothing else.
  [[nodiscard]] static std::optional<Uuid> parse(std::string_view text);
  // A fresh version 7 UUID (RFC 9562): 48 bits of Unix milliseconds, then random bits. Safe from any thread.
  [[nodiscard]] static Uuid make_v7();
  // Exactly 16 bytes, as stored; absent for any other length.
  [[nodiscard]] static std::optional<Uuid> from_bytes(std::string_view bytes);

  auto operator<=>(const Uuid&) const = default;
  bool operator==(const Uuid&) const = default;
};

// 32 lower-case hexadecimal digits.
[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(const Uuid& uuid);

}  // namespace looseleaf

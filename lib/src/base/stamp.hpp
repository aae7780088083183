// Times in microseconds of UTC, as the servers' DATETIME(6) stores them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace looseleaf::base {

// A point in time, in microseconds since 1970-01-01 00:00:00 UTC. Covers DATETIME's years 1000 to 9999.
struct Stamp {
  std::int64_t micros = 0;

  auto operator<=>(const Stamp&) const = default;
  bool operator==(const Stamp&) const = default;
};

// Returns "2026-01-31 12:00:00.000001".
[[nodiscard]] std::string to_string(Stamp stamp);
// Reads what to_string() writes, with or without the fraction (1 to 6 digits). Throws Error(corrupt) on anything else.
[[nodiscard]] Stamp parse_stamp(std::string_view text);

}  // namespace looseleaf::base

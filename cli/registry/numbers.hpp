// Numbers on the command line.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace looseleaf::cli {

inline constexpr std::uint64_t longest_seconds = 366 * 86400;

// The range of a whole number, both limits included.
struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

// Parses a whole number within the range. Messages name `option`. Throws Error(usage).
[[nodiscard]] std::uint64_t parse_count(const std::string& option, const std::string& text, Range range);

// Parses seconds, perhaps with a fraction, from a millisecond to a year. Throws Error(usage).
[[nodiscard]] double parse_seconds(const std::string& option, const std::string& text);

}  // namespace looseleaf::cli

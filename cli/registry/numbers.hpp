// Numbers on the command line.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace looseleaf::cli {

inline constexpr std::uint64_t longest_seconds = 366 * 86400;

// What a whole number may be, both ends included.
struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

// A whole number within the range; `option` is for the message. Throws Error(usage).
[[nodiscard]] std::uint64_t parse_count(const std::string& option, const std::string& text, Range range);

// Seconds, with a fraction allowed, from a millisecond to a year. Throws Error(usage).
[[nodiscard]] double parse_seconds(const std::string& option, const std::string& text);

}  // namespace looseleaf::cli

// Numbers on the command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <looseleaf/cluster.hpp>
#include <string>

namespace looseleaf::cli {

inline constexpr std::uint64_t longest_seconds =
    std::chrono::duration_cast<std::chrono::seconds>(longest_timeout).count();

// The range of a whole number, both limits included.
struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

// Parses a whole number within the range. Messages name `option`. Throws Error(usage).
[[nodiscard]] std::uint64_t parse_count(const std::string& option, const std::string& text, Range range);

// Parses seconds, perhaps with a fraction, from a millisecond to a year. Messages name the option or variable that gave
// them; `kind` says which of the two it is. Throws Error(usage).
[[nodiscard]] double parse_seconds(const std::string& name, const std::string& text,
                                   const std::string& kind = "option");

}  // namespace looseleaf::cli

// Numbers on the command line.
#pragma once

#include <cstdint>
#include <string>

namespace looseleaf::cli {

// A whole number from 0; `option` is for the message. Throws Error(usage).
[[nodiscard]] std::uint64_t parse_count(const std::string& option, const std::string& text);

// Seconds, with a fraction allowed, from 0 to a year. Throws Error(usage).
[[nodiscard]] double parse_seconds(const std::string& option, const std::string& text);

}  // namespace looseleaf::cli

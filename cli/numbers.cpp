// Numbers on the command line.
#include "cli/numbers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <looseleaf/error.hpp>
#include <system_error>

namespace looseleaf::cli {
namespace {

constexpr double longest_seconds = 366.0 * 86400.0;

template <typename Number>
bool parse_whole(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty();
}

}  // namespace

std::uint64_t parse_count(const std::string& option, const std::string& text) {
  std::uint64_t number = 0;
  if (!parse_whole(text, number)) {
    throw Error(ErrorCode::usage, "not a whole number", {{"option", option}, {"value", text}},
                fmt::format("give a number from 0 to {}", std::numeric_limits<std::uint64_t>::max()));
  }
  return number;
}

double parse_seconds(const std::string& option, const std::string& text) {
  double number = 0;
  if (!parse_whole(text, number) || !(number >= 0) || number > longest_seconds) {
    throw Error(ErrorCode::usage, "not a number of seconds", {{"option", option}, {"value", text}},
                fmt::format("give a number from 0 to {:.0f}", longest_seconds));
  }
  return number;
}

}  // namespace looseleaf::cli

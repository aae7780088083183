// Numbers on the command line.
#include "cli/registry/numbers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <looseleaf/error.hpp>
#include <string_view>
#include <system_error>

namespace looseleaf::cli {
namespace {

constexpr double fewest_seconds = std::chrono::duration<double>(min_timeout).count();

template <typename Number>
bool parse_whole(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty();
}

// Of any sign and size.
bool is_whole(std::string_view text) {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::uint64_t parse_count(const std::string& option, const std::string& text, Range range) {
  std::uint64_t number = 0;
  const bool parsed = parse_whole(text, number);
  if (!parsed || number < range.least || number > range.most) {
    throw Error(ErrorCode::usage, is_whole(text) ? "a number out of range" : "not a whole number",
                {{"option", option}, {"value", text}},
                fmt::format("give a number from {} to {}, or leave the option out", range.least, range.most));
  }
  return number;
}

double parse_seconds(const std::string& name, const std::string& text, const std::string& kind) {
  double number = 0;
  if (!parse_whole(text, number) || !(number >= fewest_seconds) || number > static_cast<double>(longest_seconds)) {
    throw Error(ErrorCode::usage, "not a number of seconds", {{kind, name}, {"value", text}},
                fmt::format("give a number from {} to {}, or {}", fewest_seconds, longest_seconds,
                            kind == "variable" ? "unset the variable" : "leave the option out"));
  }
  return number;
}

}  // namespace looseleaf::cli

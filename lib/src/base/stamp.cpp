// Converts DATETIME(6) texts to microseconds and back.
#include "base/stamp.hpp"

#include <fmt/format.h>

#include <chrono>
#include <looseleaf/error.hpp>

namespace looseleaf::base {
namespace {

constexpr std::int64_t micros_per_second = 1'000'000;

// Consumes exactly `count` decimal digits; returns -1 if they are missing.
int take_number(std::string_view& text, std::size_t count) {
  if (text.size() < count) {
    return -1;
  }
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') {
      return -1;
    }
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// Reads the rest of a stamp after the seconds: nothing, or a dot and 1 to 6 digits. Returns -1 for anything else.
int take_fraction(std::string_view& text) {
  if (text.empty()) {
    return 0;
  }
  if (!take(text, '.') || text.empty() || text.size() > 6) {
    return -1;
  }
  std::size_t missing = 6 - text.size();
  int value = take_number(text, text.size());
  for (; missing > 0 && value > 0; --missing) {
    value *= 10;
  }
  return value;
}

}  // namespace

std::string to_string(Stamp stamp) {
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(stamp.micros)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::int64_t in_day = std::chrono::microseconds(time - day).count();
  const std::int64_t seconds = in_day / micros_per_second;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), seconds / 3600,
                     seconds / 60 % 60, seconds % 60, in_day % micros_per_second);
}

Stamp parse_stamp(std::string_view text) {
  std::string_view rest = text;
  const int year = take_number(rest, 4);
  const bool dash1 = take(rest, '-');
  const int month = take_number(rest, 2);
  const bool dash2 = take(rest, '-');
  const int day = take_number(rest, 2);
  const bool space = take(rest, ' ');
  const int hour = take_number(rest, 2);
  const bool colon1 = take(rest, ':');
  const int minute = take_number(rest, 2);
  const bool colon2 = take(rest, ':');
  const int second = take_number(rest, 2);
  const int micros = take_fraction(rest);
  const bool shaped = dash1 && dash2 && space && colon1 && colon2 && year >= 1000 && month > 0 && day > 0 &&
                      hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60 && micros >= 0;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!shaped || !date.ok()) {
    throw Error(ErrorCode::corrupt, "a time stamp cannot be read", {{"value", std::string(text)}});
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = days * 86'400 + hour * 3600 + minute * 60 + second;
  return Stamp{seconds * micros_per_second + micros};
}

}  // namespace looseleaf::base

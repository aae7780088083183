// Entities like FriendFeed's.
#include "bench/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace looseleaf::bench {
namespace {

constexpr std::array<std::string_view, 16> words = {"photo",  "share",   "evening", "garden", "release", "guitar",
                                                    "weekly", "reading", "coffee",  "trail",  "server",  "paper",
                                                    "launch", "market",  "winter",  "window"};

// SplitMix64 (Steele, Lea and Flood, 2014): spreads the bits of a counter.
std::uint64_t spread(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Generator::Generator(std::uint64_t entities, std::uint64_t seed, std::uint64_t revision)
    : users_(std::max<std::uint64_t>(1, entities / entities_a_user)), revision_(revision), random_(seed) {}

Uuid Generator::numbered(std::uint64_t kind, std::uint64_t number) const {
  return Uuid::parse(
             fmt::format("{:016x}{:016x}", spread(2 * number + (kind << 40)), spread(2 * number + 1 + (kind << 40))))
      .value();
}

std::string Generator::next() {
  const std::uint64_t number = made_++;
  std::string title;
  for (int i = 0; i < 12; ++i) {
    title += fmt::format("{}{}", i == 0 ? "" : " ", words[random_() % words.size()]);
  }
  return fmt::format(
      R"({{"id":"{}","user_id":"{}","feed_id":"{}","title":"{}","link":"http://www.example.org/{:x}/{}","published":{},"updated":{}}})",
      to_string(numbered(random_() >> 40, number)), some_user(), to_string(numbered(2, random_() % users_)), title,
      random_() + revision_, number, 1'200'000'000 + number, 1'200'000'000 + number + random_() % 86400);
}

std::string Generator::some_user() {
  return to_string(numbered(1, random_() % users_ + revision_));
}

}  // namespace looseleaf::bench

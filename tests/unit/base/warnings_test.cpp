// Warnings on their way to the caller.
#include "base/warnings.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace looseleaf::base {
namespace {

TEST_CASE("each distinct warning is given once; a warning with another context is distinct") {
  std::vector<std::string> given;
  Warnings warnings([&](const Warning& warning) { given.push_back(warning.what + warning.context.front().second); });
  for (int time = 0; time < 2; ++time) {
    warnings.give({"slow", {{"shard", "0"}}, "wait"});
    warnings.give({"slow", {{"shard", "1"}}, "wait"});
  }
  CHECK(given == std::vector<std::string>{"slow0", "slow1"});
}

TEST_CASE("a warning of something that has happened again is passed on again, but not at once") {
  int given = 0;
  Warnings warnings([&](const Warning&) { ++given; });
  warnings.give({"slow", {}, {}}, std::chrono::hours(1));
  warnings.give({"slow", {}, {}}, std::chrono::hours(1));
  CHECK(given == 1);
  warnings.give({"slow", {}, {}}, {});
  CHECK(given == 2);
}

TEST_CASE("a warning is given again after very many others, because not all of them are remembered") {
  int given = 0;
  Warnings warnings([&](const Warning&) { ++given; });
  for (int time = 0; time < 2; ++time) {
    for (int value = 0; value < 10'001; ++value) {
      warnings.give({"slow", {{"value", std::to_string(value)}}, {}});
    }
  }
  CHECK(given == 20'002);
}

TEST_CASE("warnings that nobody wants to hear are dropped") {
  Warnings warnings({});
  CHECK_NOTHROW(warnings.give({"slow", {}, {}}));
}

}  // namespace
}  // namespace looseleaf::base

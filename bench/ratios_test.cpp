// Medians, ratios by run, goals, and what is missing.
#include "bench/ratios.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

namespace looseleaf::bench {
namespace {

constexpr const char* put = "put, 1 index / raw loader";

std::string line(const char* by, double rate, const char* work = "put", const char* variant = "1 index") {
  return nlohmann::json({{"work", work}, {"variant", variant}, {"by", by}, {"run", 1}, {"rate", rate}}).dump() + "\n";
}

std::vector<Ratio> ratios(const std::string& records) {
  std::istringstream lines(records);
  return ratios_of(read_records(lines));
}

const Ratio* find(const std::vector<Ratio>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Ratio& ratio) { return ratio.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a ratio is taken run by run, and its goal is compared with the median") {
  const auto all = ratios(line("looseleaf", 130) + line("raw loader", 100) + line("looseleaf", 10) +
                          line("raw loader", 20) + line("looseleaf", 500) + line("raw loader", 100));
  const Ratio* const ratio = find(all, put);
  REQUIRE(ratio != nullptr);
  CHECK(ratio->values == std::vector<double>{1.3, 0.5, 5.0});
  CHECK(ratio->goal == "≥ 1.20");
  CHECK(ratio->reached == true);
  CHECK(to_json(std::vector<Ratio>{*ratio})[0]["median"] == 1.3);
  CHECK(to_json(std::vector<Ratio>{*ratio})[0]["min"] == 0.5);
  CHECK(to_json(std::vector<Ratio>{*ratio})[0]["max"] == 5.0);
}

TEST_CASE("the times of a work that somebody does in two steps are added") {
  const auto all = ratios(line("looseleaf", 3, "backfill") + line("raw index rows", 3, "backfill") +
                          line("reading and decoding", 6, "verify", "all bodies"));
  const Ratio* const ratio = find(all, "backfill, 1 index / reading and decoding, then raw index rows");
  REQUIRE(ratio != nullptr);
  CHECK(ratio->values == std::vector<double>{1.5});
  CHECK(ratio->goal == "≥ 1.20");
}

TEST_CASE("a goal that is missed says so") {
  CHECK(find(ratios(line("looseleaf", 119) + line("raw loader", 100)), put)->reached == false);
}

TEST_CASE("a ratio of a work that was measured without one side is missing, not left out") {
  const auto all = ratios(line("looseleaf", 130));
  const Ratio* const ratio = find(all, put);
  REQUIRE(ratio != nullptr);
  CHECK(ratio->values.empty());
  CHECK_FALSE(ratio->reached.has_value());
  CHECK_FALSE(to_json(std::vector<Ratio>{*ratio})[0].contains("median"));
}

TEST_CASE("ratios of works that were not measured are left out, and so are those that are measured only if asked for") {
  const auto all = ratios(line("looseleaf", 130) + line("raw loader", 100));
  CHECK(find(all, "verify, 2 indexes / reading and decoding, seconds") == nullptr);
  CHECK(find(all, "put, Debian packages, 3 indexes / raw loader") == nullptr);
}

TEST_CASE("the median of an even number of runs is between the two in the middle") {
  const auto all = ratios(line("looseleaf", 1) + line("raw loader", 1) + line("looseleaf", 2) + line("raw loader", 1));
  CHECK(to_json(std::vector<Ratio>{*find(all, put)})[0]["median"] == 1.5);
}

TEST_CASE("what is left of all cores' time is waiting, and never below nothing") {
  const auto measurement = [](double client) {
    return nlohmann::ordered_json{{"metrics",
                                   {{"count", {{"median", 4.0}}},
                                    {"seconds", {{"median", 1.0}}},
                                    {"client_cpu", {{"median", client}}},
                                    {"server_cpu", {{"median", 0.5}}}}}};
  };
  CHECK(costs_of(measurement(0.5), 2) == std::vector<double>{0.125, 0.125, 0.25});
  CHECK(costs_of(measurement(2.0), 2) == std::vector<double>{0.5, 0.125, 0.0});
  nlohmann::ordered_json unknown = measurement(1);
  unknown["metrics"].erase("client_cpu");
  CHECK(costs_of(unknown, 2).empty());
}

}  // namespace looseleaf::bench

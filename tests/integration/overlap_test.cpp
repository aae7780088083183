// Two processes put the same fresh ids at once, and then again and again with changing indexed values, while a third
// queries: the invariant on a live store.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr int number_of_entities = 10'000;
constexpr int rounds = 4;

struct Put {
  long long start = 0, end = 0;
  std::string status;
};

// By entity number, in order of round.
using History = std::map<int, std::vector<Put>>;

History read_history(const std::string& text) {
  History history;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int round = 0, number = 0;
    Put put;
    if (words >> round >> number >> put.start >> put.end >> put.status) {
      history[number].push_back(put);
    }
  }
  return history;
}

// Puts of one process that ran while the other put the same entity.
int count_overlaps(const History& a, const History& b) {
  int overlaps = 0;
  for (const auto& [number, puts] : a) {
    for (const Put& put : puts) {
      const auto& others = b.at(number);
      overlaps += std::any_of(others.begin(), others.end(),
                              [&](const Put& other) { return other.start < put.end && put.start < other.end; })
                      ? 1
                      : 0;
    }
  }
  return overlaps;
}

int count_status(const std::vector<Put>& puts, const std::string& status) {
  return static_cast<int>(
      std::count_if(puts.begin(), puts.end(), [&](const Put& put) { return put.status == status; }));
}

// Of each odd entity one process's puts were all stored and the other's all refused.
bool first_owner_won(const std::vector<Put>& a, const std::vector<Put>& b) {
  return (count_status(a, "stored") == rounds && count_status(b, "rejected") == rounds) ||
         (count_status(b, "stored") == rounds && count_status(a, "rejected") == rounds);
}

TEST_CASE("two processes put the same ids over and over while a third queries, and nothing is ever missed") {
  StoreFixture fixture;
  fixture.create_index(
      R"({"table": "index_color", "properties": [{"name": "color", "type": "string"}], "shard_on": "color"})");
  fixture.create_index(
      R"({"table": "index_owner", "properties": [{"name": "owner", "type": "string"}], "shard_on": "owner", "immutable": true})");
  fixture.create_index(R"({"table": "index_fixed", "properties": [{"name": "fixed", "type": "string"}]})");
  const TemporaryDirectory meeting;
  const auto recorder = [&](const char* name, const char* other) {
    return start({LOOSELEAF_PUT_RECORDER, fixture.cluster.file(), name, std::to_string(rounds),
                  std::to_string(number_of_entities), meeting.path(), other});
  };
  cli::Process ann = recorder("ann", "bob");
  cli::Process bob = recorder("bob", "ann");

  // From the end of the first round on every entity is stored, and its `fixed` never changes.
  int queries = 0, wrong_answers = 0;
  const auto round_ended = [](const cli::Process& process, int round) {
    return process.out().find("round " + std::to_string(round) + "\n") != std::string::npos;
  };
  while (!round_ended(ann, rounds - 1) || !round_ended(bob, rounds - 1)) {
    if (!round_ended(ann, 0) || !round_ended(bob, 0)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    const auto ids = fixture.query("index_fixed", {"fixed=same"});
    ++queries;
    wrong_answers +=
        ids.size() == number_of_entities && std::set(ids.begin(), ids.end()).size() == number_of_entities ? 0 : 1;
  }
  const cli::ProcessResult ann_result = ann.wait();
  const cli::ProcessResult bob_result = bob.wait();
  REQUIRE(ann_result.status == 0);
  REQUIRE(bob_result.status == 0);
  const History ann_history = read_history(ann_result.out);
  const History bob_history = read_history(bob_result.out);

  const int overlaps = count_overlaps(ann_history, bob_history);
  MESSAGE(overlaps << " puts overlapped a put of the same id; " << queries << " queries ran beside them");
  CHECK(overlaps >= 1000);
  CHECK(queries >= 2);
  CHECK(wrong_answers == 0);
  int failed = 0, not_decided_by_the_first = 0;
  for (const auto& [number, puts] : ann_history) {
    failed += count_status(puts, "failed") + count_status(bob_history.at(number), "failed");
    if (number % 2 == 1) {
      not_decided_by_the_first += first_owner_won(puts, bob_history.at(number)) ? 0 : 1;
    }
  }
  CHECK_MESSAGE(failed == 0, ann_result.err, bob_result.err);
  CHECK(not_decided_by_the_first == 0);
  CHECK(fixture.findings().empty());  // without any clean
}

}  // namespace
}  // namespace looseleaf::test

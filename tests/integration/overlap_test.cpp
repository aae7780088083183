// Two stores put the same fresh ids at once, and then again and again with changing indexed values, while a third
// queries: the invariant on a live store.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr int number_of_entities = 10'000;
constexpr int rounds = 4;
constexpr int entities_at_once = 500;

// Begin and end are those of the batch that the put was in.
struct Put {
  std::chrono::steady_clock::time_point start, end;
  WriteStatus status;
};

// By entity number, in order of round.
using History = std::vector<std::vector<Put>>;

// All have the same `fixed`, and a `color` that changes with every round. Odd ones also have an `owner` of an immutable
// index, which is the writer's name: so of two writers only the first to come can ever store one.
std::string text_of(const std::string& name, int round, int number) {
  return entity(fmt::format("{:032x}", number),
                fmt::format(R"("color":"{} {} {}","fixed":"same"{})", name, round, number % 7,
                            number % 2 == 1 ? fmt::format(R"(,"owner":"{}")", name) : ""));
}

// What one of two writers did.
struct Record {
  History history = History(number_of_entities);
  std::string errors;  // of puts that were neither stored nor rejected
  std::atomic<int> rounds_ended = 0;
};

// Puts the same entities again and again over connections of its own, beside another one: they start every batch
// together.
void put_rounds(const StoreFixture& fixture, const std::string& name, std::barrier<>& both, Record& record) {
  Datastore store = fixture.open();
  for (int round = 0; round < rounds; ++round) {
    for (int from = 0; from < number_of_entities; from += entities_at_once) {
      std::vector<std::string> texts;
      for (int number = from; number < from + entities_at_once; ++number) {
        texts.push_back(text_of(name, round, number));
      }
      both.arrive_and_wait();
      const auto start = std::chrono::steady_clock::now();
      const std::vector<WriteResult> results = store.put(texts);
      const auto end = std::chrono::steady_clock::now();
      for (const WriteResult& result : results) {
        record.history[static_cast<std::size_t>(from) + result.sequence].push_back({start, end, result.status});
        if (result.status != WriteStatus::stored && result.status != WriteStatus::rejected) {
          record.errors += result.error ? result.error->what() : "no error";
        }
      }
    }
    ++record.rounds_ended;
  }
}

// Puts of one store that ran while the other put the same entity.
int count_overlaps(const History& a, const History& b) {
  int overlaps = 0;
  for (std::size_t number = 0; number < a.size(); ++number) {
    const std::vector<Put>& others = b[number];
    for (const Put& put : a[number]) {
      overlaps += std::any_of(others.begin(), others.end(),
                              [&](const Put& other) { return other.start < put.end && put.start < other.end; })
                      ? 1
                      : 0;
    }
  }
  return overlaps;
}

int count_status(const std::vector<Put>& puts, WriteStatus status) {
  return static_cast<int>(
      std::count_if(puts.begin(), puts.end(), [&](const Put& put) { return put.status == status; }));
}

// Of each odd entity one store's puts were all stored and the other's all refused.
bool first_owner_won(const std::vector<Put>& a, const std::vector<Put>& b) {
  return (count_status(a, WriteStatus::stored) == rounds && count_status(b, WriteStatus::rejected) == rounds) ||
         (count_status(b, WriteStatus::stored) == rounds && count_status(a, WriteStatus::rejected) == rounds);
}

TEST_CASE("two stores put the same ids over and over while a third queries, and nothing is ever missed") {
  StoreFixture fixture;
  fixture.create_index(
      R"({"table": "index_color", "properties": [{"name": "color", "type": "string"}], "shard_on": "color"})");
  fixture.create_index(
      R"({"table": "index_owner", "properties": [{"name": "owner", "type": "string"}], "shard_on": "owner", "immutable": true})");
  fixture.create_index(R"({"table": "index_fixed", "properties": [{"name": "fixed", "type": "string"}]})");
  std::barrier<> both(2);
  Record ann, bob;
  std::jthread of_ann([&] { put_rounds(fixture, "ann", both, ann); });
  std::jthread of_bob([&] { put_rounds(fixture, "bob", both, bob); });

  // From the end of the first round on every entity is stored, and its `fixed` never changes.
  int queries = 0, wrong_answers = 0;
  while (std::min<int>(ann.rounds_ended, bob.rounds_ended) < rounds) {
    if (std::min<int>(ann.rounds_ended, bob.rounds_ended) < 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    const auto ids = fixture.query("index_fixed", {"fixed=same"});
    ++queries;
    wrong_answers +=
        ids.size() == number_of_entities && std::set(ids.begin(), ids.end()).size() == number_of_entities ? 0 : 1;
  }
  of_ann.join();
  of_bob.join();

  const int overlaps = count_overlaps(ann.history, bob.history);
  MESSAGE(overlaps << " puts overlapped a put of the same id; " << queries << " queries ran beside them");
  CHECK(overlaps >= 1000);
  CHECK(queries >= 2);
  CHECK(wrong_answers == 0);
  CHECK(ann.errors + bob.errors == "");
  int not_decided_by_the_first = 0;
  for (std::size_t number = 1; number < number_of_entities; number += 2) {
    not_decided_by_the_first += first_owner_won(ann.history[number], bob.history[number]) ? 0 : 1;
  }
  CHECK(not_decided_by_the_first == 0);
  CHECK(fixture.findings().empty());  // without any clean
}

}  // namespace
}  // namespace looseleaf::test

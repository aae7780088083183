// Copies of unique values, which move between entities while they are copied.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <looseleaf/datastore.hpp>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint64_t unique_entities = 12;
constexpr const char* by_m_unique =
    R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}], "shard_on": "m", "unique": true})";

// Numbers of entities, with their values.
using Values = std::vector<std::pair<std::uint64_t, int>>;

// A store of two shards with a unique index, and a cluster of three to copy it to.
struct UniquePair {
  UniquePair() {
    create_index(original, by_n_unique);
    put_all(original, entity_lines(unique_entities, R"("n":{})"));
  }

  [[nodiscard]] std::vector<std::string> copy_command(const std::vector<std::string>& options = {}) const {
    return joined({"copy", "--to", other.file()}, options);
  }
  [[nodiscard]] cli::ProcessResult copy() const { return original.looseleaf(copy_command()); }

  void set(std::uint64_t number, int n) const { put_all(original, entity(number, fmt::format(R"("n":{})", n))); }
  // Gives each of these entities the value that the next one has, and the last one that of the first one.
  Values rotate(Values values) const {
    set(values.back().first, 1'000);
    int free = values.back().second;
    for (auto entity = values.rbegin() + 1; entity != values.rend(); ++entity) {
      set(entity->first, free);
      std::swap(entity->second, free);
    }
    set(values.back().first, free);
    values.back().second = free;
    return values;
  }

  void check_same() const {
    const cli::ProcessResult compared =
        original.looseleaf({"verify", "--against", other.file(), "--grace", "0", "--quiet"});
    CHECK_MESSAGE(compared.status == 0, compared.out, compared.err);
    const cli::ProcessResult verified = other.looseleaf({"verify", "--grace", "0"});
    CHECK_MESSAGE(verified.status == 0, verified.out, verified.err);
  }

  TestCluster original = initialised(2), other = initialised(3);
};

TEST_CASE("values that entities have taken from each other since the last run are copied, whoever comes first") {
  const UniquePair pair;
  check_status(pair.copy(), 0, {"wrote 12 versions"});
  SUBCASE("a chain") {
    pair.set(5, 100);
    for (const std::uint64_t number : {4U, 3U, 2U, 1U, 0U}) {
      pair.set(number, static_cast<int>(number + 1));
    }
  }
  SUBCASE("a chain in the other direction") {
    pair.set(0, 100);
    for (const std::uint64_t number : {1U, 2U, 3U, 4U, 5U}) {
      pair.set(number, static_cast<int>(number - 1));
    }
  }
  SUBCASE("a swap on one shard") {
    pair.rotate({{0, 0}, {2, 2}});
  }
  SUBCASE("a swap on two shards, and a cycle of five") {
    pair.rotate({{0, 0}, {1, 1}});
    pair.rotate({{3, 3}, {8, 8}, {5, 5}, {2, 2}, {7, 7}});
  }
  SUBCASE("an entity that is deleted") {
    check_status(pair.original.looseleaf({"delete", id_of(11)}), 0);
    pair.set(0, 11);
    pair.set(20, 0);
  }
  check_status(pair.copy(), 0, {"wrote "});
  pair.check_same();
}

TEST_CASE("values that move all the time end where they are in the original, also if copiers die meanwhile" *
          needs_failpoints) {
  const UniquePair pair;
  std::string failpoints;
  bool dies = true;
  SUBCASE("no copier dies") {
    dies = false;
  }
  SUBCASE("copiers die after a commit") {
    failpoints = "put.commit:after#4=kill";
  }
  SUBCASE("copiers die before a commit") {
    failpoints = "put.commit:before#3=kill";
  }
  check_status(pair.copy(), 0, {"wrote 12 versions"});
  Values values = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}};
  std::mt19937 random(7);
  int deaths = 0;
  for (int run = 0; run < (dies ? 3 : 1); ++run) {
    cli::Process follower = pair.original.start(pair.copy_command({"--follow"}), {}, failpoints);
    for (int round = 0; round < 5; ++round) {
      values = pair.rotate(values);
      std::shuffle(values.begin(), values.end(), random);
    }
    const int status = end_by(SIGTERM, follower).status;
    CHECK((status == 143 || (dies && status == 137)));
    deaths += status == 137 ? 1 : 0;
  }
  CHECK((deaths > 0) == dies);
  check_status(pair.copy(), 0, {"wrote "});
  if (dies) {  // a put that died may have left a superfluous row, but no row is missing
    const cli::ProcessResult cleaned = pair.other.looseleaf({"clean", "--full"});
    CHECK_MESSAGE(cleaned.status == 0, cleaned.err);
    CHECK_MESSAGE(!contains(cleaned.err, "missing from a ready index"), cleaned.err);
  }
  pair.check_same();
}

TEST_CASE("an entity that is written all the time, and has given a value up, does not hold up the copy" *
          needs_failpoints) {
  const UniquePair pair;
  check_status(pair.copy(), 0, {"wrote 12 versions"});
  pair.set(10, 100);
  pair.set(0, 10);
  std::atomic<bool> done = false;
  std::atomic<std::uint64_t> puts = 0;
  std::jthread writer([&] {
    Datastore datastore = Datastore::open(Cluster::load(pair.original.file()));
    for (const auto begin = std::chrono::steady_clock::now();
         !done && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20); ++puts) {
      datastore.put({entity(10, fmt::format(R"("n":100,"k":{})", puts.load()))});
    }
  });
  wait_until("it is written after the other one", [&] { return puts > 0; });
  const auto begin = std::chrono::steady_clock::now();
  check_status(pair.original.start(pair.copy_command(), {}, "put.fence:before@1=sleep:300").wait(), 0, {"wrote "});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));
  done = true;
  writer.join();
  CHECK(puts > 10);
  check_status(pair.copy(), 0, {"wrote "});
  pair.check_same();
}

TEST_CASE("a unique index that the original has dropped since is not taken for a fault of the original") {
  const UniquePair pair;
  cli::Process follower = pair.original.start(pair.copy_command({"--follow"}));
  wait_until("it follows", [&] { return contains(follower.err(), "the copy has caught up"); });
  check_status(pair.original.looseleaf({"drop-index", "--yes", "by_n"}), 0, {"dropped by_n"});
  pair.set(1, 0);
  check_status(follower.wait(), 3,
               {"error: an index has been created, filled or dropped meanwhile\n", "hint: run the"});
  check_status(pair.copy(), 0, {"dropped 1 index"});
  pair.check_same();
}

TEST_CASE("an entity whose value was too long before the index was created is copied") {
  const UniquePair pair;
  put_all(pair.original, entity(30, R"("s":"abcd")"));
  const std::string file = pair.original.directory().write(
      "by_s.json", R"({"table": "by_s", "properties": [{"name": "s", "type": "string", "max_length": 3}],
                       "shard_on": "s", "unique": true})");
  CHECK(pair.original.looseleaf({"create-index", "--backfill", file}).status == 0);
  check_status(pair.copy(), 0, {"wrote 13 versions"});
  pair.check_same();
}

TEST_CASE("an entity that cannot be read any more is not in the way of the one that has taken its value") {
  const UniquePair pair;
  check_status(pair.copy(), 0, {"wrote 12 versions"});
  pair.set(0, 100);
  pair.set(1, 0);
  pair.original.sql(0, fmt::format("UPDATE entities SET body = 'damaged' WHERE id = x'{}'", id_of(0)));
  check_status(pair.copy(), 1, {"an entity was not copied, because it cannot be read\n", "  id: " + id_of(0) + "\n"});
  check_run(pair.other.looseleaf({"get", id_of(1)}), 0, entity(1, R"("n":0)") + "\n");
  pair.set(0, 101);
  check_status(pair.copy(), 0, {"wrote "});
  pair.check_same();
}

TEST_CASE("two entities of the original with the same values are named, and the copy goes on when one is changed") {
  const UniquePair pair;
  std::uint64_t first = 20, second = 21;
  SUBCASE("in an index that is building") {
    put_all(pair.original, entity(20, R"("m":1)") + "\n" + entity(21, R"("m":1)"));
    const std::string file = pair.original.directory().write("by_m.json", by_m_unique);
    CHECK(pair.original.looseleaf({"create-index", "--backfill", file}).status == 1);
  }
  SUBCASE("in an index that has lost a row") {
    SUBCASE("from the start") {}
    SUBCASE("when the copy has one of the entities") {
      check_status(pair.copy(), 0, {"wrote 12 versions"});
    }
    pair.original.sql(0, "DELETE FROM by_n WHERE n = 0");
    pair.set(20, 0);
    first = 0;
    second = 20;
  }
  for (int run = 0; run < 2; ++run) {
    const cli::ProcessResult refused = pair.copy();
    check_status(refused, 1,
                 {"error: two entities of the original have the same values in a unique index\n", "  index: by_",
                  "hint: change or delete one of them in the original, then run the command again; "});
    CHECK(contains(refused.err, id_of(first)));
    CHECK(contains(refused.err, id_of(second)));
  }
  pair.set(second, 200);
  check_status(pair.copy(), 0, {"wrote "});
  CHECK(pair.original.looseleaf({"verify", "--repair", "--grace", "0"}).status == 0);
  CHECK(pair.original.looseleaf({"backfill"}).status == 0);
  pair.check_same();
}

TEST_CASE("a copy that has duplicates from before the index gets it when the original has none any more") {
  const UniquePair pair;
  put_all(pair.original, entity(20, R"("m":1)") + "\n" + entity(21, R"("m":1)"));
  check_status(pair.copy(), 0, {"wrote 14 versions"});
  const std::string file = pair.original.directory().write("by_m.json", by_m_unique);
  CHECK(pair.original.looseleaf({"create-index", "--backfill", file}).status == 1);
  put_all(pair.original, entity(20, R"("m":1,"x":1)") + "\n" + entity(21, R"("m":1,"x":1)"));
  check_status(pair.copy(), 0, {"wrote 2 versions"});
  check_status(pair.original.looseleaf({"delete", id_of(21)}), 0);
  check_status(pair.original.looseleaf({"backfill"}), 0, {"by_m: ready"});
  check_status(pair.copy(), 0, {"wrote 1 version"});
  pair.check_same();
  check_run(pair.other.looseleaf({"query", "by_m", "m=1", "--ids"}), 0, id_of(20) + "\n");
}

TEST_CASE("a copy that follows says which unique index stays building") {
  const UniquePair pair;
  put_all(pair.original, entity(20, R"("m":1)") + "\n" + entity(21, R"("m":1)"));
  check_status(pair.copy(), 0, {"wrote 14 versions"});
  put_all(pair.original, entity(21, R"("m":2)"));
  create_index(pair.original, by_m_unique);
  cli::Process copy = pair.original.start(pair.copy_command({"--follow"}));
  wait_until("it follows", [&] { return contains(copy.err(), "the copy has caught up"); });
  check_status(
      end_by(SIGTERM, copy), 143,
      {"warning: a unique index stays `building` in the other cluster, because entities there have the same "
       "values\n",
       "index: by_m\n", "hint: when these entities have other values in this store, run `copy` once without "});
  check_status(pair.original.looseleaf({"backfill"}), 0, {"by_m: ready"});
  check_status(pair.copy(), 0, {"wrote 0 versions"});
  pair.check_same();
}

TEST_CASE("a move fills a unique index that the copy could not have until it got the changes since its last run") {
  const UniquePair pair;
  put_all(pair.original, entity(20, R"("m":1)") + "\n" + entity(21, R"("m":1)"));
  check_status(pair.copy(), 0, {"wrote 14 versions"});
  put_all(pair.original, entity(21, R"("m":2)"));
  create_index(pair.original, by_m_unique);
  check_status(pair.original.looseleaf(pair.copy_command({"--finish"})), 0, {"the store has moved"});
  check_run(pair.other.looseleaf({"query", "by_m", "m=1", "--ids"}), 0, id_of(20) + "\n");
}

}  // namespace
}  // namespace looseleaf::test

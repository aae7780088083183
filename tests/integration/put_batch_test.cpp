// Batches that belong to several shards of one server: who of them fails, waits or is left out, and the index rows that
// a put itself makes superfluous.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "base/failpoint.hpp"
#include "shard/fence.hpp"
#include "sql/transaction.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint32_t total_shards = 8;  // on two servers
constexpr int entities = 80;

// Eight shards on two servers, an index over all of them, and entities that a few batches have stored.
struct ManyShards : StoreFixture {
  ManyShards() : StoreFixture(total_shards) {
    create_index(by_n_sharded);
    CHECK(count(put_all(0), WriteStatus::stored) == entities);
  }

  // Puts the entities with n = number + `shift`.
  std::vector<WriteResult> put_all(int shift) { return put_all(datastore, shift); }
  static std::vector<WriteResult> put_all(Datastore& by, int shift) {
    std::vector<std::string> texts;
    for (int number = 0; number < entities; ++number) {
      texts.push_back(entity(static_cast<std::uint64_t>(number), fmt::format(R"("n":{})", number + shift)));
    }
    return by.put(texts);
  }

  static std::size_t count(const std::vector<WriteResult>& results, WriteStatus status) {
    return static_cast<std::size_t>(
        std::count_if(results.begin(), results.end(), [&](const auto& result) { return result.status == status; }));
  }

  [[nodiscard]] int rows() const {
    int rows = 0;
    for (std::uint32_t shard = 0; shard < total_shards; ++shard) {
      rows += std::stoi(cluster.sql(shard, "SELECT COUNT(*) FROM by_n"));
    }
    return rows;
  }
};

TEST_CASE_FIXTURE(ManyShards, "a put deletes the index rows that it makes superfluous, on all shards") {
  CHECK(count(put_all(3), WriteStatus::stored) == entities);
  CHECK(rows() == entities);
  CHECK(findings().empty());
}

TEST_CASE_FIXTURE(ManyShards, "a shard whose database is gone fails its own entities only") {
  Datastore impatient = open(std::chrono::seconds(5));
  REQUIRE(count(put_all(impatient, 0), WriteStatus::stored) == entities);  // its sessions know all shards
  cluster.sql(4, "DROP DATABASE " + cluster.database(4));
  std::size_t failed = 0;
  for (const WriteResult& result : put_all(impatient, 0)) {
    const auto number = result.sequence;
    const bool needs_it = number % total_shards == 4;  // for the entity or its index row
    CAPTURE(number);
    CHECK((result.status == WriteStatus::failed) == needs_it);
    if (needs_it && result.error) {
      const auto& context = result.error->context();
      CHECK(std::count(context.begin(), context.end(), std::pair<std::string, std::string>("shard", "4")) == 1);
      ++failed;
    }
  }
  CHECK(failed == entities / total_shards);
}

TEST_CASE_FIXTURE(ManyShards, "a shard whose fence is held exclusively delays its own entities only") {
  // Shards 0 and 6 are on one server.
  shard::Shards others = StoreFixture::shards();
  const shard::Lease lease = others.connect(0, others.deadline());
  std::optional<sql::Transaction> holder(*lease);
  static_cast<void>(lease->query("SELECT * FROM " + (*lease).table("looseleaf_shard") + " FOR UPDATE"));
  const auto stamps = [&](std::uint32_t shard) { return cluster.sql(shard, "SELECT MAX(updated) FROM entities"); };
  const std::string before = stamps(0), before_neighbour = stamps(6);
  std::vector<WriteResult> results;
  std::jthread put([&] { results = put_all(0); });
  const auto begin = std::chrono::steady_clock::now();
  while (stamps(6) == before_neighbour && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(stamps(6) != before_neighbour);
  CHECK(stamps(0) == before);
  holder.reset();
  put.join();
  CHECK(count(results, WriteStatus::stored) == entities);
}

TEST_CASE_FIXTURE(ManyShards, "a batch does not mix shards that have an index with shards that do not have it yet" *
                                  doctest::skip(!base::failpoints_enabled)) {
  Datastore writer = open();
  REQUIRE(count(put_all(writer, 0), WriteStatus::stored) == entities);  // caches the catalogs
  const std::string file = cluster.directory().write(
      "by_m.json", R"({"table": "by_m", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})");
  cluster.die_at("create.publish:after@4", {"create-index", file});
  CHECK(count(put_all(writer, 5), WriteStatus::stored) == entities);
  int maintained = 0;
  for (std::uint32_t shard = 0; shard < total_shards; ++shard) {
    maintained += cluster.sql(shard, "SELECT COUNT(*) FROM looseleaf_index WHERE table_name = 'by_m'") == "1\n" ? 1 : 0;
  }
  CHECK(maintained > 0);
  CHECK(maintained < static_cast<int>(total_shards));
  std::set<std::string> ids;  // in the new table
  for (std::uint32_t shard = 0; shard < total_shards; ++shard) {
    const std::string found = cluster.sql(shard, "SELECT HEX(entity_id) FROM by_m");
    for (std::size_t from = 0; from < found.size(); from += 33) {
      ids.insert(found.substr(from, 32));
    }
  }
  CHECK(static_cast<int>(ids.size()) == maintained * entities / static_cast<int>(total_shards));
  CHECK(count(put_all(writer, 6), WriteStatus::stored) == entities);
  check_status(cluster.looseleaf({"create-index", "--quiet", file}), 0);
  check_status(cluster.looseleaf({"backfill", "--quiet"}), 0);
  CHECK(findings().empty());
}

// A put that is stopped when it has committed and not yet deleted the row that it made superfluous.
struct StoppedBeforeDelete : ManyShards {
  cli::Process start(const std::string& text, const std::string& left_out = {}) {
    return cluster.stop_at(left_out + "put.commit:after#1", {"put"}, text);
  }
  void end(cli::Process& process) {
    process.signal(SIGCONT);
    check_status(process.wait(), 0);
  }
};

TEST_CASE_FIXTURE(StoppedBeforeDelete, "a put does not delete the row of a value that another put has restored" *
                                           doctest::skip(!base::failpoints_enabled)) {
  std::string left_out;
  std::vector<std::string> expected;
  SUBCASE("as it is") {}
  SUBCASE("control: without a look at the entity's stamp") {
    left_out = "reconcile.lock_entities=skip,";
    expected = {"missing by_n [0]"};
  }
  cli::Process process = start(entity(0, R"("n":100)"), left_out);
  REQUIRE(put_one(datastore, entity(0, R"("n":0)")) == WriteStatus::stored);
  end(process);
  CHECK(findings() == expected);
}

TEST_CASE_FIXTURE(StoppedBeforeDelete, "a put does not delete rows of an index that was created meanwhile" *
                                           doctest::skip(!base::failpoints_enabled)) {
  std::string left_out;
  std::vector<std::string> expected;
  SUBCASE("as it is") {}
  SUBCASE("control: without a look at the epoch") {
    left_out = "reconcile.fence=skip,";
    expected = {"missing by_kind [7]"};
  }
  const auto by_kind = [](const char* where) {
    return fmt::format(R"({{"table": "by_kind", "properties": [{{"name": "n", "type": "int"}}]{}}})", where);
  };
  create_index(by_kind(R"(, "where": {"kind": "a"})"));
  REQUIRE(put_one(datastore, entity(0, R"("n":7,"kind":"a")")) == WriteStatus::stored);
  cli::Process process = start(entity(0, R"("n":7,"kind":"b")"), left_out);
  check_status(cluster.looseleaf({"drop-index", "--quiet", "by_kind", "--yes"}), 0);
  create_index(by_kind(""));
  check_status(cluster.looseleaf({"backfill", "--quiet"}), 0);
  end(process);
  CHECK(findings() == expected);
}

}  // namespace
}  // namespace looseleaf::test

// Batches that belong to several shards of one server: who of them fails, waits or is left out, the index rows that a
// put itself makes superfluous, and its cleanup records.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "shard/fence.hpp"
#include "shard/placement.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/lock_holder.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint32_t shard_count = 8;  // on two servers
constexpr int entity_count = 80;

// Eight shards on two servers, an index over all of them, and entities that a few batches have stored.
struct ManyShards : StoreFixture {
  ManyShards() : StoreFixture(shard_count) {
    create_index(by_n_sharded);
    CHECK(count(put_all(0), WriteStatus::stored) == entity_count);
  }

  // Puts the entities with n = number + `shift`.
  std::vector<WriteResult> put_all(int shift) { return put_all(datastore, shift); }
  static std::vector<WriteResult> put_all(Datastore& by, int shift) {
    return by.put(lines_of(entity_lines(entity_count, [&](std::uint64_t number) {
      return fmt::format(R"("n":{})", static_cast<int>(number) + shift);
    })));
  }

  // Lines of one batch for the four shards of server 0, each with n = number + `shift`. An unchanged entity comes
  // first, in a batch of its own, because its id comes again; while `gather` delays that batch, the other lines arrive.
  static constexpr const char* gather = "put.fence:before#1=sleep:1000,";
  static std::string lines_of_one_batch(int shift) {
    std::string lines = entity(0, R"("n":0)") + "\n";
    for (int number = 0; number < entity_count; number += 2) {
      lines += entity(static_cast<std::uint64_t>(number), fmt::format(R"("n":{})", number + shift)) + "\n";
    }
    return lines;
  }

  static std::size_t count(const std::vector<WriteResult>& results, WriteStatus status) {
    return static_cast<std::size_t>(
        std::count_if(results.begin(), results.end(), [&](const auto& result) { return result.status == status; }));
  }

  [[nodiscard]] std::size_t rows() const { return rows_of(cluster, "by_n"); }
  [[nodiscard]] std::size_t records() const { return rows_of(cluster, "looseleaf_cleanup"); }
};

TEST_CASE_FIXTURE(ManyShards, "a put deletes the index rows that it makes superfluous, on all shards") {
  CHECK(count(put_all(3), WriteStatus::stored) == entity_count);
  CHECK(rows() == entity_count);
  CHECK(records() == 0);
  CHECK(findings().empty());
}

TEST_CASE_FIXTURE(ManyShards,
                  "clean deletes what a put left that died after its commit, without a sweep" * needs_failpoints) {
  std::string failpoints;
  bool deleted = false, recorded = true;
  SUBCASE("before it deleted a row") {
    failpoints = "put.commit:after#2";
  }
  SUBCASE("before it committed the deletes") {
    failpoints = "reconcile.commit:before";
  }
  SUBCASE("before it deleted its record") {
    failpoints = "cleanup.delete:before";
    deleted = true;
  }
  SUBCASE("control: without a record") {
    failpoints = "put.write_cleanup=skip,put.commit:after#2";
    recorded = false;
  }
  cluster.die_at(gather + failpoints, {"put"}, lines_of_one_batch(3));
  CHECK(rows() == (deleted ? entity_count : entity_count + entity_count / 2));
  CHECK(records() == (recorded ? 4 : 0));
  const CleanReport report = clean();
  CHECK(report.checked == (recorded ? entity_count / 2 : 0));
  CHECK(report.deleted() == (recorded && !deleted ? entity_count / 2 : 0));
  CHECK(findings().empty() == recorded);
  CHECK(records() == 0);
  CHECK(clean().checked == 0);
}

TEST_CASE_FIXTURE(ManyShards, "clean takes only times that make sense") {
  using std::chrono::seconds;
  for (const seconds keep : {seconds(-1), seconds::max()}) {
    CHECK(error_of([&] { static_cast<void>(clean({.keep_tombstones = keep})); }).code() == ErrorCode::usage);
  }
  for (const seconds every : {seconds(-1), seconds(0), seconds::max()}) {
    CHECK(error_of([&] { static_cast<void>(clean({.full_every = every})); }).code() == ErrorCode::usage);
  }
  CHECK_NOTHROW(static_cast<void>(clean({.full_every = seconds(1), .keep_tombstones = seconds(0)})));
}

TEST_CASE_FIXTURE(ManyShards, "clean looks at no index table while there is no record") {
  REQUIRE(count(put_all(3), WriteStatus::stored) == entity_count);
  cluster.everywhere("RENAME TABLE by_n TO away");
  CHECK(clean().checked == 0);
  cluster.everywhere("RENAME TABLE away TO by_n");
  cluster.sql(0, cleanup_record({id_of(0)}));
  CHECK(clean().checked == 1);
  CHECK(findings().empty());
}

TEST_CASE_FIXTURE(ManyShards, "a shard whose records cannot be read does not keep clean from the others") {
  cluster.everywhere("RENAME TABLE looseleaf_cleanup TO looseleaf_away");
  for (const std::uint32_t shard : {0U, 1U, 6U}) {  // 0 and 6 are on one server
    cluster.sql(shard, "RENAME TABLE looseleaf_away TO looseleaf_cleanup");
    cluster.sql(shard, cleanup_record({id_of(shard)}));
  }
  CHECK_THROWS_AS(static_cast<void>(clean()), Error);
  for (const std::uint32_t shard : {0U, 1U, 6U}) {
    CHECK(cluster.sql(shard, "SELECT COUNT(*) FROM looseleaf_cleanup") == "0\n");
  }
}

TEST_CASE_FIXTURE(ManyShards, "a put that cannot write its record stores nothing, and takes its index rows back") {
  cluster.sql(0, "RENAME TABLE looseleaf_cleanup TO looseleaf_away");
  Datastore impatient = open(std::chrono::seconds(5));
  const auto results = impatient.put({entity(0, R"("n":1000)"), entity(6, R"("n":1006)")});  // 0 and 6: on one server
  CHECK(results.at(0).status == WriteStatus::failed);
  CHECK(results.at(1).status == WriteStatus::stored);
  cluster.sql(0, "RENAME TABLE looseleaf_away TO looseleaf_cleanup");
  CHECK(findings().empty());
  CHECK(records() == 0);
}

TEST_CASE_FIXTURE(ManyShards, "a shard whose database is gone while sessions are open fails its own entities only") {
  Datastore impatient = open(std::chrono::seconds(5));
  REQUIRE(count(put_all(impatient, 0), WriteStatus::stored) == entity_count);  // its sessions have checked all shards
  Cluster other;
  other.shards = {Cluster::load(cluster.file()).shards[4]};
  cluster.sql(4, "DROP DATABASE " + cluster.database(4));
  bool is_anothers = false;
  SUBCASE("it is gone") {}
  SUBCASE("it was created again for another cluster, and gets nothing") {
    is_anothers = true;
    Datastore::open(other, options(std::chrono::seconds(20))).init();
  }
  for (const WriteResult& result : put_all(impatient, 0)) {
    const bool needs_it = result.sequence % shard_count == 4;  // for the entity or its index row
    CAPTURE(result.sequence);
    CHECK((result.status == WriteStatus::failed) == needs_it);
    REQUIRE(result.error.has_value() == needs_it);
    if (needs_it) {
      const auto& context = result.error->context();
      CHECK(std::count(context.begin(), context.end(), std::pair<std::string, std::string>("shard", "4")) == 1);
      CHECK((result.error->code() == ErrorCode::wrong_cluster) == is_anothers);
    }
  }
  if (is_anothers) {
    CHECK(cluster.sql(4, "SELECT COUNT(*) FROM entities") == "0\n");
  }
}

TEST_CASE_FIXTURE(ManyShards, "a shard whose fence is held exclusively delays its own entities only") {
  std::optional<LockHolder> holder(std::in_place, *this, 0, lock_of_fence);
  const auto stamps = [&](std::uint32_t shard) { return cluster.sql(shard, "SELECT MAX(updated) FROM entities"); };
  const std::string before = stamps(0), before_neighbour = stamps(6);  // they are on one server
  std::vector<WriteResult> results;
  WriteStream stream(datastore, [&](WriteResult result) { results.push_back(std::move(result)); });
  const auto put = [&](int n) { stream.put(entity(0, fmt::format(R"("n":{})", n))); };
  // A batch that waits alone, then others, in which an id comes again.
  put(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (int number = 2; number < entity_count; number += 2) {
    stream.put(entity(static_cast<std::uint64_t>(number), fmt::format(R"("n":{})", number + 1)));
  }
  put(2);
  put(3);
  const auto begin = std::chrono::steady_clock::now();
  wait_until("shard 6 stores", [&] { return stamps(6) != before_neighbour; });
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));  // a batch of one entity waits for 2 s
  CHECK(stamps(0) == before);
  holder.reset();
  stream.finish();
  CHECK(count(results, WriteStatus::stored) == entity_count / 2 + 2);
  CHECK(datastore.get({uuid_of(0)}).front()->json == entity(0, R"("n":3)"));
}

TEST_CASE_FIXTURE(ManyShards, "what a held fence keeps back for too long fails, and nothing else does") {
  Datastore impatient = open(std::chrono::seconds(3));
  put_all(impatient, 0);  // has connected, and knows the catalogs
  const LockHolder holder(*this, 0, lock_of_fence);
  const std::vector<WriteResult> results = put_all(impatient, 7);
  for (const WriteResult& result : results) {
    const bool held = shard::shard_of(*result.id, shard_count) == 0;
    CHECK(result.status == (held ? WriteStatus::failed : WriteStatus::stored));
    CHECK(result.error.has_value() == held);
    if (held) {
      CHECK(result.error->code() == ErrorCode::unavailable);  // a batch of one entity runs into its statement's limit
    }
  }
}

TEST_CASE_FIXTURE(ManyShards, "index rows that met a lock for too long are inserted again, and need no reconcile" *
                                  needs_failpoints) {
  std::deque<LockHolder> holders;
  for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
    holders.emplace_back(*this, shard, "SELECT * FROM by_n FOR UPDATE");
  }
  cli::Process put = cluster.start({"put"}, entity(1001, R"("n":1001)"), "put.reconcile:before=kill");
  std::this_thread::sleep_for(std::chrono::seconds(5));  // longer than a session waits for a lock
  for (LockHolder& holder : holders) {
    holder.release();
  }
  const cli::ProcessResult result = put.wait();
  CHECK_MESSAGE(result.status == 0, result.err);
  CHECK(query("by_n", {"n=1001"}) == std::vector{id_of(1001)});
}

TEST_CASE_FIXTURE(ManyShards, "a batch does not mix shards that have an index with shards that do not have it yet" *
                                  needs_failpoints) {
  Datastore writer = open();
  REQUIRE(count(put_all(writer, 0), WriteStatus::stored) == entity_count);  // caches the catalogs
  const std::string file = cluster.directory().write(
      "by_m.json", R"({"table": "by_m", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})");
  cluster.die_at("create.publish:after@4", {"create-index", file});
  CHECK(count(put_all(writer, 5), WriteStatus::stored) == entity_count);
  const std::size_t maintained = rows_of(cluster, "looseleaf_index WHERE table_name = 'by_m'");
  CHECK(maintained > 0);
  CHECK(maintained < shard_count);
  const std::vector<std::string> found = lines_of(cluster.everywhere("SELECT HEX(entity_id) FROM by_m"));
  CHECK(std::set(found.begin(), found.end()).size() == maintained * entity_count / shard_count);
  CHECK(count(put_all(writer, 6), WriteStatus::stored) == entity_count);
  check_status(cluster.looseleaf({"create-index", "--quiet", file}), 0);
  check_status(cluster.looseleaf({"backfill", "--quiet"}), 0);
  CHECK(findings().empty());
}

// The steps of the runbook "Add a server", while a batch of the moving shard and its neighbours has not committed yet.
struct Move : ManyShards {
  static constexpr std::uint32_t moving = 4, from = 0, to = 1;  // a shard and servers

  // A cluster file of a user to whom read_only applies.
  std::string file_of_writer(const std::string& name) {
    std::string shards;
    for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
      shards += fmt::format(R"({}{{"socket": "{}", "database": "{}"}})", shard == 0 ? "" : ", ",
                            cluster.socket(shard == moving && name == "new" ? to : shard), cluster.database(shard));
    }
    return cluster.directory().write(
        name + ".json", fmt::format(R"({{"shards": [{}], "user": "writer", "ssl_mode": "disabled"}})", shards));
  }

  void make_user() const {
    cluster.everywhere("CREATE USER IF NOT EXISTS writer@localhost; GRANT ALL ON * TO writer@localhost");
    cluster.server_sql(to, fmt::format("GRANT ALL ON {}.* TO writer@localhost", cluster.database(moving)));
  }

  void copy() const {
    const auto connection = [&](std::uint32_t server) {
      return "--no-defaults --user=root --socket=" + cluster.socket(server);
    };
    check_status(run({"sh", "-c",
                      fmt::format("mariadb-dump {} --single-transaction --hex-blob --databases {} | {} {}",
                                  connection(from), cluster.database(moving), cluster.client(), connection(to))}),
                 0);
  }
};

TEST_CASE_FIXTURE(Move, "a shard that moves to another server during a batch loses nothing, and delays its neighbours" *
                            needs_failpoints) {
  make_user();
  const std::string old_file = file_of_writer("old"), new_file = file_of_writer("new");
  cli::Process put = start({"env", fmt::format("LOOSELEAF_FAILPOINT={}put.commit:before#2=stop", gather),
                            looseleaf_program(), "--cluster", old_file, "--timeout", "20", "put"},
                           lines_of_one_batch(2));
  REQUIRE(wait_until_stopped(put));
  bool accepts_writes = false;
  SUBCASE("as the runbook says") {}
  SUBCASE("control: the old server still accepts writes") {
    accepts_writes = true;
  }
  cluster.server_sql(from, fmt::format("SET GLOBAL read_only = {}", accepts_writes ? 0 : 1));
  copy();
  std::jthread drop([&] {  // waits until the batch has ended
    cluster.server_sql(from, "DROP DATABASE " + cluster.database(moving) + "; SET GLOBAL read_only = 0");
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const cli::ProcessResult result = resume(put);
  drop.join();
  INFO(result.err);
  Datastore moved = Datastore::open(Cluster::load(new_file), options(std::chrono::seconds(20)));
  std::size_t lost = 0, of_neighbours = 0;
  for (const std::string& id : lines_of(result.out)) {
    const std::uint64_t number = std::stoull(id.substr(20), nullptr, 16);
    const auto found = moved.get({uuid_of(number)}).front();
    lost += found && found->json == entity(number, fmt::format(R"("n":{})", number + 2)) ? 0 : 1;
    of_neighbours += number % shard_count == moving || (number + 2) % shard_count == moving ? 0 : 1;
  }
  CHECK(lost == (accepts_writes ? entity_count / shard_count : 0));
  CHECK(of_neighbours == entity_count / 4 + 1);  // and the first line
  if (!accepts_writes) {
    check_status(result, 3, {"looseleaf: error: ", "shard: 4\n", "hint: ", "looseleaf: stored 21 entities, failed "});
    JobControl control;
    const VerifyReport report = moved.verify({.tables = {}, .repair = true, .grace_seconds = 0}, control);
    CHECK(report.findings.empty());
  }
}

// A put that is stopped when it has committed and not yet deleted the row that it made superfluous.
struct StoppedBeforeDelete : ManyShards {
  cli::Process start(const std::string& text, const std::string& left_out = {}) {
    return cluster.stop_at(left_out + "put.commit:after#1", {"put"}, text);
  }
  void end(cli::Process& process) { check_status(resume(process), 0); }
};

TEST_CASE_FIXTURE(StoppedBeforeDelete,
                  "a put does not delete the row of a value that another put has restored" * needs_failpoints) {
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

TEST_CASE_FIXTURE(StoppedBeforeDelete, "a put finds its rows and its record deleted by clean" * needs_failpoints) {
  cli::Process process = start(entity(0, R"("n":100)"));
  CHECK(records() == 1);
  CHECK(clean().deleted() == 1);
  CHECK(records() == 0);
  end(process);
  CHECK(findings().empty());
}

TEST_CASE_FIXTURE(StoppedBeforeDelete, "clean --follow leaves a record to its put for two seconds" * needs_failpoints) {
  cli::Process process = start(entity(0, R"("n":100)"));
  const auto begun = std::chrono::steady_clock::now();
  JobControl control;
  CleanOptions options;
  options.follow = true;
  options.on_pass = [&](const CleanPass& ended) { control.stop = ended.report.checked > 0; };
  CHECK_THROWS_AS(static_cast<void>(datastore.clean(options, control)), Error);
  CHECK(std::chrono::steady_clock::now() - begun >= std::chrono::seconds(2));
  CHECK(records() == 0);
  end(process);
  CHECK(findings().empty());
}

TEST_CASE_FIXTURE(StoppedBeforeDelete,
                  "a put does not delete rows of an index that was created meanwhile" * needs_failpoints) {
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

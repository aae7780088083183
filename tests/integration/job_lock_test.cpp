// The named lock of a job: what becomes of sessions that asked for it, and of a lock whose session is lost. And the
// sessions by which a job knows that no server has died.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/text.hpp"
#include "job/jobs.hpp"
#include "shard/durability.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// The shards as an account sees them that may end its own sessions only.
shard::Shards shards_of_account(const StoreFixture& fixture, std::chrono::milliseconds timeout) {
  const TestCluster& cluster = fixture.cluster;
  const std::string secret = cluster.directory().write("job.cnf", "[client]\nuser=job\npassword=secret\n");
  ::chmod(secret.c_str(), S_IRUSR | S_IWUSR);
  cluster.everywhere("CREATE USER IF NOT EXISTS job@localhost IDENTIFIED BY 'secret'; GRANT ALL ON * TO job@localhost");
  const std::string file = cluster.write_file("job.json", fmt::format(R"("defaults_file": "{}")", secret));
  return {Cluster::load(file), StoreFixture::options(timeout)};
}

// The lock by which a job knows a former session of its own.
std::string own_lock(const job::JobLock& lock) {
  return fmt::format("looseleaf.own.{:016x}", lock.token());
}

// The lock of the job itself.
std::string lock_of_clean(const StoreFixture& fixture) {
  return fmt::format("looseleaf.{:016x}", base::fnv1a(fixture.cluster.database(0) + "\nclean\n"));
}

// The session that holds a lock on shard 0's server; empty: none.
std::string holder(const sql::Database& database, const std::string& lock) {
  return database->query(fmt::format("SELECT IS_USED_LOCK('{}')", lock)).cell(0, 0).value_or("");
}

void wait_until_free(const sql::Database& database, const std::string& lock) {
  wait_until("the lock is free", [&] { return holder(database, lock).empty(); });
}

// Another run cannot begin, for the right reason.
void check_held(shard::Shards& shards) {
  CHECK(error_of([&] { const job::JobLock lock(shards, "clean", {""}); }).code() == ErrorCode::busy);
}

TEST_CASE("a session that asked for a job's lock is not used for anything else") {
  const StoreFixture fixture;
  shard::Shards shards = fixture.shards(), others = fixture.shards();
  std::uint64_t asked = 0;
  {
    const shard::Lease lease = others.connect(0, others.deadline(), shard::Purpose::pinned);
    asked = lease->facts().connection_id;
  }
  {
    const job::JobLock lock(shards, "clean", {""});
    check_held(others);
    const shard::Lease lease = others.connect(0, others.deadline(), shard::Purpose::pinned);
    CHECK(lease->facts().connection_id != asked);
    asked = std::stoull(holder(*lease, own_lock(lock)));
  }
  const shard::Lease lease = shards.connect(0, shards.deadline(), shard::Purpose::pinned);
  CHECK(lease->facts().connection_id != asked);
}

TEST_CASE("a job whose session is lost takes its lock anew, also from a session that the server has kept") {
  const StoreFixture fixture;
  shard::Shards shards = fixture.shards(), others = fixture.shards();
  const shard::Lease admin = others.connect(0, others.deadline());
  job::JobLock lock(shards, "clean", {""});
  const std::string first = holder(*admin, own_lock(lock));
  REQUIRE(!first.empty());
  admin->execute("KILL " + first);
  wait_until_free(*admin, own_lock(lock));
  wait_until_free(*admin, lock_of_clean(fixture));
  {
    shard::Lease kept = others.connect(0, others.deadline());  // as the server keeps one whose client is gone
    for (const std::string& name : {own_lock(lock), lock_of_clean(fixture)}) {
      REQUIRE(kept->query(fmt::format("SELECT GET_LOCK('{}', 0)", name)).cell(0, 0) == "1");
    }
    lock.keep_alive();
    kept.discard();
  }
  const std::string again = holder(*admin, own_lock(lock));
  CHECK(!again.empty());
  CHECK(holder(*admin, lock_of_clean(fixture)) == again);
  check_held(others);
}

TEST_CASE("a job does not keep its lock on a server that was demoted, because others ask the new one") {
  const StoreFixture fixture;
  shard::Shards shards = fixture.shards(4s);
  job::JobLock lock(shards, "clean", {""});
  fixture.cluster.server_sql(0, "SET GLOBAL read_only = 1");
  const std::string what = error_of([&] { lock.keep_alive(); }).what();
  fixture.cluster.server_sql(0, "SET GLOBAL read_only = 0");
  CHECK(what == "the server is read-only");
  shard::Shards others = fixture.shards();
  CHECK_NOTHROW(job::JobLock(others, "clean", {""}));  // it has let go of it
}

TEST_CASE("a job that cannot end its former session says so, and goes on when that has ended") {
  const StoreFixture fixture;
  shard::Shards shards = shards_of_account(fixture, 3s), others = fixture.shards();
  const shard::Lease admin = others.connect(0, others.deadline());
  job::JobLock lock(shards, "clean", {""});
  admin->execute("KILL " + holder(*admin, own_lock(lock)));
  wait_until_free(*admin, own_lock(lock));
  REQUIRE(admin->query(fmt::format("SELECT GET_LOCK('{}', 0)", own_lock(lock))).cell(0, 0) == "1");
  const Error error = error_of([&] { lock.keep_alive(); });
  CHECK(std::string(error.what()) == "the server still holds the lock of a lost session");
  CHECK(error.code() == ErrorCode::unavailable);
  CHECK(error.hint() == "retry, or use a longer --timeout");
  static_cast<void>(admin->query(fmt::format("SELECT RELEASE_LOCK('{}')", own_lock(lock))));
  lock.keep_alive();
  CHECK(!holder(*admin, own_lock(lock)).empty());
}

TEST_CASE("a lock that somebody holds is not taken for a server that has died") {
  const StoreFixture fixture;
  shard::Shards shards = fixture.shards();
  shard::CrashDetector detector(shards);
  const TestCluster& store = fixture.cluster;
  cli::Process backup = start({store.client(), "--defaults-file=" + store.defaults_file(), "-S", store.socket(1), "-e",
                               "FLUSH TABLES WITH READ LOCK; SELECT SLEEP(4)"});  // longer than a session waits
  wait_until("it is held", [&] {
    return contains(store.sql(1, "SELECT info FROM information_schema.processlist"), "SELECT SLEEP(4)\n");
  });
  CHECK(detector.make_durable());
  static_cast<void>(backup.wait());
}

TEST_CASE("an update does not wait for the sessions of others that are at work, because its lock only saves work") {
  const StoreFixture fixture;
  Datastore store = fixture.open(10s);
  for (const std::uint64_t number : {0, 2, 4}) {  // on one shard
    REQUIRE(put_one(store, entity(number)) == WriteStatus::stored);
  }
  const auto began = std::chrono::steady_clock::now();
  const auto update = [&](std::uint64_t number, const std::function<void()>& meanwhile) {
    const WriteResult result = store.update(uuid_of(number), [&](const std::string&) {
      meanwhile();
      return entity(number, R"("n":1)");
    });
    CHECK(result.status == WriteStatus::stored);
  };
  update(0, [&] { update(2, [&] { update(4, [] {}); }); });
  CHECK(std::chrono::steady_clock::now() - began < 9s);  // the timeout is 10
}

}  // namespace
}  // namespace looseleaf::test

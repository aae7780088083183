// The write protocol on real servers: what a put does when catalogs change, rows are in its way, locks are held, or the
// outcome of its commit is unknown.
#include "write/put.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "base/hex.hpp"
#include "base/stamp.hpp"
#include "codec/body.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "sql/transaction.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/hung_server.hpp"
#include "tests/support/lock_holder.hpp"
#include "tests/support/store_fixture.hpp"
#include "write/encode.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* index_color =
    R"({"table": "index_color", "properties": [{"name": "color", "type": "string"}], "shard_on": "color"})";
constexpr const char* index_owner =
    R"({"table": "index_owner", "properties": [{"name": "owner", "type": "int"}], "shard_on": "owner", "immutable": true})";

// Even ids live on shard 0 of two, odd ones on shard 1.
const std::string even = "00000000000000000000000000000010";
const std::string odd = "00000000000000000000000000000011";

std::string stamp_of(const StoreFixture& fixture, std::uint32_t shard, const std::string& id) {
  return fixture.cluster.sql(shard, "SELECT updated FROM entities WHERE id = x'" + id + "'");
}

TEST_CASE("an entity is stored at once when no more are on their way, though the stream goes on") {
  StoreFixture fixture;
  std::atomic<int> stored = 0;
  WriteStream stream(fixture.datastore,
                     [&](const WriteResult& result) { stored += result.status == WriteStatus::stored; });
  for (int i = 1; i <= 3; ++i) {
    stream.put(entity(fmt::format("{:032x}", i), R"("n":1)"), {});
    wait_until("it is stored", [&] { return stored == i; });
  }
  stream.finish();
}

// A write that nobody would store must not be taken in silence.
TEST_CASE("a stream that has ended refuses writes") {
  StoreFixture fixture;
  int results = 0;
  WriteStream stream(fixture.datastore, [&](const WriteResult&) { ++results; });
  stream.put(entity(even, R"("n":1)"));
  stream.finish();
  const std::function<void()> writes[] = {[&] { stream.put(entity(odd, R"("n":1)")); },
                                          [&] { stream.remove(*Uuid::parse(even)); }};
  for (const auto& write : writes) {
    const Error error = error_of(write);
    CHECK(error.code() == ErrorCode::usage);
    CHECK(std::string(error.what()) == "the stream has ended");
  }
  stream.flush();
  stream.finish();
  CHECK(results == 1);
}

TEST_CASE("a flush waits for the writes before it, and not for those of another thread after it") {
  StoreFixture fixture;
  std::atomic<bool> flushing = false, flushed = false, more_written = false;
  WriteStream stream(fixture.datastore, [&](const WriteResult& result) {
    if (result.sequence == 0) {
      wait_until("another thread has written", [&] { return more_written.load(); });
      CHECK_FALSE(flushed);
    } else {
      for (int waits = 0; waits < 1000 && !flushed; ++waits) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      CHECK(flushed);
    }
  });
  stream.put(entity(even, R"("n":1)"));
  std::jthread flusher([&] {
    flushing = true;
    stream.flush();
    flushed = true;
  });
  wait_until("the flush begins", [&] { return flushing.load(); });
  std::this_thread::sleep_for(std::chrono::seconds(1));
  stream.put(entity(odd, R"("n":1)"));
  more_written = true;
  flusher.join();
  stream.finish();
}

TEST_CASE("rejected entities among good ones get their results in order") {
  StoreFixture fixture;
  std::vector<std::string> texts;
  for (int i = 0; i < 20'000; ++i) {
    texts.emplace_back(i % 3 == 0 ? R"({"n":1})" : R"({"id":5})");
  }
  const auto results = fixture.datastore.put(texts);
  REQUIRE(results.size() == texts.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const WriteStatus expected = i % 3 == 0 ? WriteStatus::stored : WriteStatus::rejected;
    wrong += results[i].sequence == i && results[i].status == expected ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("what is written together may be more than one list of ids takes") {
  StoreFixture fixture;
  fixture.create_index(index_color);
  fixture.create_index(index_owner);
  const auto put_all = [&](const std::string& members, WriteStatus expected) {
    std::vector<std::string> texts;
    for (int i = 0; i < 2500; ++i) {
      texts.push_back(entity(fmt::format("{:031x}0", i), members));
    }
    const auto results = fixture.datastore.put(texts);
    CHECK(std::all_of(results.begin(), results.end(), [&](const auto& result) { return result.status == expected; }));
    return results.front();
  };
  put_all(R"("color":"red","owner":1)", WriteStatus::stored);
  put_all(R"("color":"blue","owner":1)", WriteStatus::stored);
  const WriteResult changed = put_all(R"("color":"green","owner":2)", WriteStatus::rejected);
  CHECK(changed.error->code() == ErrorCode::refused);  // `owner` is immutable
  CHECK(fixture.query("index_color", {"color=blue"}).size() == 2500);
  CHECK(fixture.query("index_color", {"color=red"}).empty());
  CHECK(fixture.findings().empty());
}

TEST_CASE("ids that are taken for new ones because the last ones were, but are not") {
  StoreFixture fixture;
  fixture.create_index(index_color);
  fixture.create_index(index_owner);
  Datastore other = fixture.open();
  std::vector<std::string> texts;
  for (int i = 2; i < 50; ++i) {
    texts.push_back(entity(fmt::format("{:031x}0", i), R"("color":"blue","owner":1)"));
  }
  REQUIRE(put_one(other, entity(even, R"("color":"red","owner":1)")) == WriteStatus::stored);
  int n = 100;
  const auto after_a_new_one = [&]() -> Datastore& {
    REQUIRE(put_one(fixture.datastore, entity(fmt::format("{:031x}0", n++), R"("n":1)")) == WriteStatus::stored);
    return fixture.datastore;
  };
  texts.push_back(entity(even, R"("color":"blue","owner":1)"));
  for (const WriteResult& result : after_a_new_one().put(texts)) {
    CHECK(result.status == WriteStatus::stored);
  }
  CHECK(fixture.query("index_color", {"color=red"}).empty());
  CHECK(fixture.query("index_color", {"color=blue"}).size() == texts.size());
  CHECK(put_one(after_a_new_one(), entity(even, R"("color":"green","owner":2)")) == WriteStatus::rejected);
  CHECK(fixture.query("index_color", {"color=blue"}).size() == texts.size());
  CHECK(other.remove({*Uuid::parse(even)}).front().status == WriteStatus::stored);
  const std::string before = stamp_of(fixture, 0, even);
  CHECK(put_one(after_a_new_one(), entity(even, R"("color":"green","owner":2)")) == WriteStatus::stored);
  CHECK(stamp_of(fixture, 0, even) > before);
  CHECK(after_a_new_one().remove({*Uuid::parse(even)}).front().status == WriteStatus::stored);
  CHECK(fixture.findings().empty());
}

TEST_CASE("nothing is written to a server that was demoted, also over a connection from before") {
  StoreFixture fixture;
  REQUIRE(put_one(fixture.datastore, entity(even, R"("n":0)")) == WriteStatus::stored);
  Datastore impatient = fixture.open(std::chrono::seconds(4));
  REQUIRE(put_one(impatient, entity(even, R"("n":1)")) == WriteStatus::stored);
  fixture.cluster.sql(0, "SET GLOBAL read_only = 1");
  const WriteResult result = impatient.put({entity(even, R"("n":2)")}).front();
  fixture.cluster.sql(0, "SET GLOBAL read_only = 0");
  CHECK(result.status == WriteStatus::failed);
  CHECK(result.error->code() == ErrorCode::unavailable);
  CHECK(fixture.datastore.get({*Uuid::parse(even)}).front()->json == entity(even, R"("n":1)"));
}

TEST_CASE("a dead shard is waited for once, not for each batch") {
  StoreFixture fixture(TestCluster({3, 3, {}}));
  fixture.create_index(index_owner);
  fixture.create_index(
      R"({"table": "index_color", "properties": [{"name": "color", "type": "int"}], "shard_on": "color"})");
  // Puts ids on shard 0, with index rows on shards 0 and 1, and returns how many are stored.
  const auto put = [](Datastore& store, int color) {
    std::vector<std::string> texts;
    for (int i = 0; i < 4000; ++i) {
      texts.push_back(entity(fmt::format("{:032x}", 3 * i), fmt::format(R"("color":{})", color)));
    }
    const std::vector<WriteResult> results = store.put(texts);
    return std::count_if(results.begin(), results.end(),
                         [](const WriteResult& result) { return result.status == WriteStatus::stored; });
  };
  REQUIRE(put(fixture.datastore, 0) == 4000);
  fixture.cluster.sandbox().kill_server(2);
  Datastore patient = fixture.open(std::chrono::seconds(6));
  const auto start = std::chrono::steady_clock::now();
  CHECK(put(patient, 1) == 4000);  // every entity has to be reconciled, which needs all shards
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
}

TEST_CASE("a put does not wait after its commit for a server that has only superfluous rows") {
  StoreFixture fixture(TestCluster({3, 3, {}}));
  fixture.create_index(
      R"({"table": "index_color", "properties": [{"name": "color", "type": "int"}], "shard_on": "color"})");
  const std::string id = "00000000000000000000000000000003";  // on shard 0
  REQUIRE(put_one(fixture.datastore, entity(id, R"("color":2)")) == WriteStatus::stored);
  fixture.cluster.sandbox().kill_server(2);
  Datastore other = fixture.open();
  REQUIRE(other.get({*Uuid::parse(id)}).front());  // connects
  const auto start = std::chrono::steady_clock::now();
  CHECK(put_one(other, entity(id, R"("color":0)")) == WriteStatus::stored);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(4900));  // time_to_tidy() is 5 s
  fixture.cluster.sandbox().start_server(2);
  CHECK(fixture.findings() == std::vector<std::string>{"stale index_color [2]"});
  fixture.clean();  // the put has left its cleanup record
  CHECK(fixture.findings().empty());
}

TEST_CASE("a stream of updates does not wait again and again for a server that hangs and has only superfluous rows") {
  using Clock = std::chrono::steady_clock;
  StoreFixture fixture(TestCluster({3, 3, {}}));
  fixture.create_index(
      R"({"table": "index_color", "properties": [{"name": "color", "type": "int"}], "shard_on": "color"})");
  const auto update = [](Datastore& store, int number, int color) {
    return put_one(store, entity(fmt::format("{:032x}", 3 * number), fmt::format(R"("color":{})", color)));
  };
  constexpr int entities = 100;  // on shard 0
  for (int number = 0; number < entities; ++number) {
    REQUIRE(update(fixture.datastore, number, 2) == WriteStatus::stored);
  }
  const HungServer hung(fixture.cluster, 2);
  Datastore other = fixture.open();
  CHECK(update(other, 0, 0) == WriteStatus::stored);
  const auto begin = Clock::now();
  int waits = 0;
  for (int number = 1; number < entities && Clock::now() - begin < std::chrono::seconds(4); ++number) {
    const auto start = Clock::now();
    CHECK(update(other, number, 0) == WriteStatus::stored);
    waits += Clock::now() - start > std::chrono::milliseconds(800) ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  CHECK(waits <= 2);  // a busy machine may hold one up; if each put waited, for a second, there would be four
}

TEST_CASE("a row in a UNIQUE table is cleared although a server is down that has neither it nor the entity") {
  StoreFixture fixture(TestCluster({3, 3, {}}));
  fixture.create_index(index_owner);
  const std::string id = "00000000000000000000000000000003";  // on shard 0
  SUBCASE("of an entity that exists") {
    REQUIRE(put_one(fixture.datastore, entity(id, R"("n":0)")) == WriteStatus::stored);
  }
  SUBCASE("of an entity that never came to be") {}
  fixture.cluster.sql(1, "INSERT INTO index_owner VALUES (4, x'" + id + "')");
  fixture.cluster.sandbox().kill_server(2);
  const auto start = std::chrono::steady_clock::now();
  CHECK(put_one(fixture.datastore, entity(id, R"("owner":1)")) == WriteStatus::stored);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  fixture.cluster.sandbox().start_server(2);
  CHECK(fixture.cluster.sql(1, "SELECT owner FROM index_owner") == "1\n");
  CHECK(fixture.findings().empty());
}

TEST_CASE("a row that a crashed put left in a UNIQUE table does not stand in the way of the right one") {
  StoreFixture fixture;
  fixture.create_index(index_owner);
  SUBCASE("of an entity that exists") {
    REQUIRE(put_one(fixture.datastore, entity(even, R"("n":0)")) == WriteStatus::stored);
  }
  SUBCASE("of an entity that never came to be") {}
  // owner 8 and owner 10 share index shard 0, and so the UNIQUE key.
  fixture.cluster.sql(0, "INSERT INTO index_owner VALUES (8, x'" + even + "')");
  CHECK(put_one(fixture.datastore, entity(even, R"("owner":10)")) == WriteStatus::stored);
  CHECK(fixture.cluster.sql(0, "SELECT owner FROM index_owner") == "10\n");
  CHECK(fixture.findings().empty());
}

TEST_CASE("an entity that cannot be read fails only its own put, and may be deleted and put again") {
  StoreFixture fixture;
  fixture.create_index(index_owner);
  REQUIRE(put_one(fixture.datastore, entity(even, R"("owner":8)")) == WriteStatus::stored);
  fixture.cluster.sql(0, "UPDATE entities SET body = 'damaged'");
  const std::string other = "00000000000000000000000000000012";
  const auto results = fixture.datastore.put({entity(even, R"("owner":10)"), entity(other, R"("owner":10)")});
  CHECK(results[0].status == WriteStatus::failed);
  CHECK(results[0].error->code() == ErrorCode::corrupt);
  CHECK(results[1].status == WriteStatus::stored);
  fixture.datastore.remove({*Uuid::parse(even)});
  CHECK(put_one(fixture.datastore, entity(even, R"("owner":10)")) == WriteStatus::stored);
  CHECK(fixture.findings().empty());
}

TEST_CASE("stamps rise strictly, even when the clock steps back") {
  StoreFixture fixture;
  REQUIRE(put_one(fixture.datastore, entity(even, R"("n":0)")) == WriteStatus::stored);
  // As if the clock had been ahead, and then was corrected.
  fixture.cluster.sql(0, "UPDATE entities SET updated = '2040-01-01 00:00:00.000005'");
  REQUIRE(put_one(fixture.datastore, entity(even, R"("n":1)")) == WriteStatus::stored);
  CHECK(stamp_of(fixture, 0, even) == "2040-01-01 00:00:00.000006\n");
}

TEST_CASE("no stamp is below the clock floor, and a barrier raises it above every stamp it waited for") {
  StoreFixture fixture;
  fixture.cluster.sql(0, "UPDATE looseleaf_shard SET clock_floor = '2041-01-01 00:00:00'");
  REQUIRE(put_one(fixture.datastore, entity(even, R"("n":0)")) == WriteStatus::stored);
  CHECK(stamp_of(fixture, 0, even) == "2041-01-01 00:00:00.000000\n");
  shard::Shards shards = fixture.shards();
  const base::Stamp barrier = shard::take_barrier(shards, 0, shards.deadline());
  CHECK(base::to_string(barrier) == "2041-01-01 00:00:00.000001");
}

TEST_CASE("however many entities are locked together, no other one is") {
  StoreFixture fixture;
  std::vector<Uuid> ids;
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) {
    const std::string id = fmt::format("{:031x}0", i);
    texts.push_back(entity(id, R"("n":0)"));
    if (i != 2) {
      ids.push_back(*Uuid::parse(id));
    }
  }
  REQUIRE(fixture.datastore.put(texts).size() == texts.size());
  shard::Shards shards = fixture.shards();
  const shard::Lease lease = shards.connect(0, shards.deadline());
  const sql::Transaction transaction(*lease);
  CHECK(shard::lock_entities(*lease, ids).size() == ids.size());
  LockHolder other(fixture, 0, "SELECT 1");
  const auto lock_too = [&](const std::string& id) {
    other.execute("SELECT id FROM entities WHERE id = x'" + id + "' FOR UPDATE NOWAIT");
  };
  CHECK_NOTHROW(lock_too(texts[2].substr(7, 32)));
  CHECK_THROWS_AS(lock_too(texts[3].substr(7, 32)), sql::ServerError);
}

TEST_CASE("a barrier waits for a write that holds the fence") {
  StoreFixture fixture;
  LockHolder writer(fixture, 0, "SELECT * FROM looseleaf_shard LOCK IN SHARE MODE");
  shard::Shards shards = fixture.shards();
  std::atomic<bool> passed = false;
  std::jthread barrier([&] {
    static_cast<void>(shard::take_barrier(shards, 0, shards.deadline()));
    passed = true;
  });
  CHECK(fixture.cluster.await_lock_wait(0));
  CHECK_FALSE(passed);
  writer.release();
  barrier.join();
  CHECK(passed);
}

TEST_CASE("whoever wants the fence exclusively steps aside for writers and gives up in time") {
  StoreFixture fixture;
  LockHolder long_writer(fixture, 0, "SELECT * FROM looseleaf_shard LOCK IN SHARE MODE");
  shard::Shards shards = fixture.shards(std::chrono::seconds(4));
  std::jthread catalog_change([&] {
    const Error error = error_of([&] { return shard::take_barrier(shards, 0, shards.deadline()); });
    CHECK(error.code() == ErrorCode::unavailable);
  });
  CHECK(fixture.cluster.await_lock_wait(0));
  int late = 0;  // a busy machine may hold one of them up
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    CHECK(put_one(fixture.datastore, entity(even, R"("n":0)")) == WriteStatus::stored);
    const auto took = std::chrono::steady_clock::now() - start;
    late += took < std::chrono::milliseconds(1900) ? 0 : 1;
    CHECK(took < std::chrono::seconds(4));
  }
  CHECK(late <= 1);
}

TEST_CASE("a put waits for a locked row and is stored when it is free, or fails in time") {
  StoreFixture fixture;
  REQUIRE(put_one(fixture.datastore, entity(even, R"("n":0)")) == WriteStatus::stored);
  SUBCASE("free after a lock wait time-out") {
    LockHolder holder(fixture, 0, "SELECT * FROM entities WHERE id = x'" + even + "' FOR UPDATE");
    std::jthread release([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2500));
      holder.release();
    });
    CHECK(put_one(fixture.datastore, entity(even, R"("n":1)")) == WriteStatus::stored);
  }
  SUBCASE("never") {
    LockHolder holder(fixture, 0, "SELECT * FROM entities WHERE id = x'" + even + "' FOR UPDATE");
    Datastore impatient = fixture.open(std::chrono::seconds(1));
    const auto start = std::chrono::steady_clock::now();
    const WriteResult result = impatient.put({entity(even, R"("n":1)")}).front();
    CHECK(result.status == WriteStatus::failed);
    CHECK(result.error->code() == ErrorCode::unavailable);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(8));
  }
}

// The stamps of an entity that was stored when the clock was far ahead: each write adds a microsecond.
const std::string future = "2040-01-01 00:00:00.00000";
const WriteCondition is_old = {WriteCondition::Kind::unchanged, future + "5"};

// A put of `size` 8 that is stopped before its commit: another session has locked its index row, or is about to insert
// it. With a condition, even an empty one, the entity has the stamp `future` + "5" before. The wait for the row ends
// after 2 s, and then the put starts again: use until_in_time().
class StoppedPut {
 public:
  explicit StoppedPut(StoreFixture& fixture, const std::optional<WriteCondition>& condition = {}, bool unique = false,
                      int size_before = 6)
      : fixture_(fixture), holder_(fixture, 0, "SELECT 1") {
    fixture.create_index(
        fmt::format(R"({{"table": "index_size", "properties": [{{"name": "size", "type": "int"}}], "shard_on": "size",
                        "unique": {}}})",
                    unique));
    REQUIRE(put_one(fixture.datastore, entity(even, fmt::format(R"("size":{})", size_before))) == WriteStatus::stored);
    if (condition) {
      fixture.cluster.sql(0, "UPDATE entities SET updated = '" + future + "5'");
    }
    holder_.execute("INSERT INTO index_size VALUES (8, x'" + even + "') ON DUPLICATE KEY UPDATE entity_id = entity_id");
    begun_ = std::chrono::steady_clock::now();
    put_ = std::jthread([this, when = condition.value_or(WriteCondition())] {
      status_ = fixture_.datastore.put({text()}, when).front().status;
    });
  }

  // Ends the session that holds the entity's row, as a lost connection would.
  void kill_its_session() {
    const std::string locked =
        "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_rows_modified > 0 AND "
        "trx_mysql_thread_id IN (SELECT id FROM information_schema.processlist WHERE command = 'Sleep' AND db = "
        "DATABASE()) AND trx_mysql_thread_id <> " +
        std::to_string(holder_.id());
    std::string session;
    for (int i = 0; i < 130 && session.empty(); ++i) {
      // innodb_trx is a cache that is not renewed while it is asked more often than every 100 ms.
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      session = fixture_.cluster.sql(0, locked);
    }
    REQUIRE_FALSE(session.empty());
    fixture_.cluster.sql(0, "KILL " + session);
  }

  static std::string text() { return entity(even, R"("size":8)"); }

  WriteStatus let_go() {
    holder_.release();
    in_time_ = std::chrono::steady_clock::now() - begun_ < std::chrono::milliseconds(1900);
    put_.join();
    return status_;
  }
  // False if the put may have started again before it was let go.
  [[nodiscard]] bool in_time() const { return in_time_; }

 private:
  StoreFixture& fixture_;
  LockHolder holder_;
  WriteStatus status_ = WriteStatus::failed;
  std::chrono::steady_clock::time_point begun_;
  bool in_time_ = false;
  std::jthread put_;
};

// Repeats a round, each with a put of its own, until it says that this was in time.
void until_in_time(const std::function<bool()>& round) {
  for (int i = 0; i < 5; ++i) {
    if (round()) {
      return;
    }
  }
  FAIL("the machine is too slow");
}

TEST_CASE("a commit whose session was killed is found not to have happened, and is done again") {
  until_in_time([] {
    StoreFixture fixture;
    StoppedPut put(fixture);
    put.kill_its_session();
    const WriteStatus status = put.let_go();
    if (!put.in_time()) {
      return false;
    }
    CHECK(status == WriteStatus::stored);
    CHECK(fixture.query("index_size", {"size=8"}) == std::vector<std::string>{even});
    CHECK(fixture.findings().empty());
    return true;
  });
}

TEST_CASE("a commit in doubt never undoes what another writer was told is stored") {
  until_in_time([] {
    StoreFixture fixture;
    StoppedPut put(fixture);
    put.kill_its_session();
    Datastore other = fixture.open();
    REQUIRE(put_one(other, entity(even, R"("size":4)")) == WriteStatus::stored);
    const WriteStatus status = put.let_go();
    if (!put.in_time()) {
      return false;
    }
    CHECK(status == WriteStatus::stored);  // as if it had come just before the other one
    CHECK(fixture.datastore.get({*Uuid::parse(even)}).front()->json == entity(even, R"("size":4)"));
    CHECK(fixture.query("index_size", {"size=4"}) == std::vector<std::string>{even});
    CHECK(fixture.findings().empty());
    return true;
  });
}

// Both can say to have changed version 5, and have the same stamp and body.
TEST_CASE("a commit in doubt does not take another write of the same body and stamp for its own") {
  until_in_time([] {
    StoreFixture fixture;
    StoppedPut put(fixture, is_old);
    put.kill_its_session();
    fixture.cluster.sql(0, fmt::format("UPDATE entities SET updated = '{}6', writer = 7, body = x'{}'", future,
                                       base::to_hex(codec::encode_body(StoppedPut::text()))));
    const WriteStatus status = put.let_go();
    if (!put.in_time()) {
      return false;
    }
    CHECK(status == WriteStatus::changed);
    CHECK(fixture.cluster.sql(0, "SELECT writer FROM entities") == "7\n");
    return true;
  });
}

TEST_CASE("a commit in doubt that another write overtook is acknowledged only if neither had a condition") {
  for (const bool has_condition : {false, true}) {
    for (const bool other_has_condition : {false, true}) {
      CAPTURE(has_condition);
      CAPTURE(other_has_condition);
      until_in_time([&] {
        StoreFixture fixture;
        StoppedPut put(fixture, has_condition ? is_old : WriteCondition());
        put.kill_its_session();
        Datastore other = fixture.open();
        REQUIRE(put_one(other, entity(even, R"("size":4)")) == WriteStatus::stored);
        const WriteCondition last = {WriteCondition::Kind::unchanged, future + "6"};
        const WriteStatus others =
            other.put({entity(even, R"("size":2)")}, other_has_condition ? last : WriteCondition()).front().status;
        const WriteStatus status = put.let_go();
        if (!put.in_time()) {
          return false;
        }
        CHECK(others == WriteStatus::stored);
        CHECK(status == (has_condition || other_has_condition ? WriteStatus::unknown : WriteStatus::stored));
        CHECK(fixture.datastore.get({*Uuid::parse(even)}).front()->json == entity(even, R"("size":2)"));
        CHECK(fixture.findings().empty());
        return true;
      });
    }
  }
}

// Between the two, another entity may have had the value, even if the old body had it: a server may have forgotten
// that.
TEST_CASE("a commit in doubt that another write overtook is not acknowledged if it has a unique value") {
  for (const bool unique : {false, true}) {
    for (const bool takes : {false, true}) {
      CAPTURE(unique);
      CAPTURE(takes);
      until_in_time([&] {
        StoreFixture fixture;
        StoppedPut put(fixture, {}, unique, takes ? 6 : 8);
        put.kill_its_session();
        fixture.cluster.sql(0, fmt::format("UPDATE entities SET updated = '{}6', writer = 6, body = x'{}'", future,
                                           base::to_hex(codec::encode_body(entity(even, R"("size":8,"n":1)")))));
        const WriteStatus status = put.let_go();
        if (!put.in_time()) {
          return false;
        }
        CHECK(status == (unique ? WriteStatus::unknown : WriteStatus::stored));
        CHECK(fixture.findings().empty());
        return true;
      });
    }
  }
}

TEST_CASE("a write with a condition whose commit did not happen is decided again") {
  bool refused = false;
  SUBCASE("and done again") {}
  SUBCASE("and refused") {
    refused = true;
  }
  until_in_time([&] {
    StoreFixture fixture;
    StoppedPut put(fixture, is_old);
    put.kill_its_session();
    if (refused) {
      Datastore other = fixture.open();
      REQUIRE(put_one(other, entity(even, R"("size":4)")) == WriteStatus::stored);
    }
    const WriteStatus status = put.let_go();
    if (!put.in_time()) {
      return false;
    }
    CHECK(status == (refused ? WriteStatus::changed : WriteStatus::stored));
    CHECK(fixture.query("index_size", {refused ? "size=4" : "size=8"}) == std::vector<std::string>{even});
    CHECK(fixture.findings().empty());
    return true;
  });
}

TEST_CASE("a write with a condition is stored if the entity meets it, and otherwise changes nothing") {
  StoreFixture fixture;
  fixture.create_index(index_color);
  const std::string red = entity(even, R"("color":"red")"), blue = entity(even, R"("color":"blue")");
  const WriteCondition absent = {WriteCondition::Kind::absent};
  const auto stamp = [&] { return stamp_of(fixture, 0, even).substr(0, future.size() + 1); };
  const auto put = [&](const std::string& text, const WriteCondition& condition) {
    // Alone and in a batch, which take different ways.
    const std::string other = entity(odd, R"("color":"green")");
    const std::string before = stamp();
    WriteResult result = fixture.datastore.put({text}, condition).front();
    if (result.status == WriteStatus::exists || result.status == WriteStatus::changed) {
      WriteStatus in_batch = WriteStatus::stored;
      WriteStream stream(fixture.datastore,
                         [&](const WriteResult& one) { in_batch = one.sequence == 1 ? one.status : in_batch; });
      stream.put(other);
      stream.put(text, {}, condition);
      stream.finish();
      CHECK(in_batch == result.status);
      CHECK(stamp() == before);
    }
    return result;
  };
  CHECK(put(red, {WriteCondition::Kind::unchanged, "2026-01-01 00:00:00"}).status == WriteStatus::changed);
  CHECK(put(red, absent).status == WriteStatus::stored);
  CHECK(put(blue, absent).status == WriteStatus::exists);
  CHECK_FALSE(put(blue, absent).same_text);
  CHECK(put(red, absent).same_text);
  const std::string first = stamp();
  CHECK(put(blue, {WriteCondition::Kind::unchanged, first}).status == WriteStatus::stored);
  CHECK(put(red, {WriteCondition::Kind::unchanged, first}).status == WriteStatus::changed);
  CHECK(fixture.query("index_color", {"color=blue"}) == std::vector<std::string>{even});
  const Uuid id = *Uuid::parse(even);
  CHECK(fixture.datastore.remove({id}, {WriteCondition::Kind::unchanged, first}).front().status ==
        WriteStatus::changed);
  CHECK(fixture.datastore.remove({id}, {WriteCondition::Kind::unchanged, stamp()}).front().status ==
        WriteStatus::stored);
  CHECK(fixture.datastore.remove({id}, {WriteCondition::Kind::unchanged, stamp()}).front().status ==
        WriteStatus::not_found);
  CHECK(put(red, absent).status == WriteStatus::stored);  // a deleted entity is absent
  CHECK_THROWS_WITH_AS(put(red, {WriteCondition::Kind::unchanged, "yesterday"}), "malformed stamp", Error);
  CHECK(fixture.findings().empty());
}

// They are locked by one statement, a UNION ALL.
TEST_CASE("one entity's put locks the fence before the entity") {
  StoreFixture fixture;
  REQUIRE(put_one(fixture.datastore, entity(even, R"("n":1)")) == WriteStatus::stored);
  const std::string fence = lock_of_fence;
  const std::string row = "SELECT * FROM entities WHERE id = x'" + even + "' FOR UPDATE";
  const auto put_while_locked = [&](const std::string& held, const std::function<void()>& look) {
    Datastore other = fixture.open();
    LockHolder holder(fixture, 0, held);
    WriteStatus status = WriteStatus::failed;
    std::jthread put([&] { status = put_one(other, entity(even, R"("n":2)")); });
    CHECK(fixture.cluster.await_lock_wait(0));
    look();
    holder.release();
    put.join();
    CHECK(status == WriteStatus::stored);
  };
  put_while_locked(row, [&] { CHECK_THROWS(fixture.cluster.sql(0, fence + " NOWAIT")); });
  put_while_locked(fence, [&] { CHECK_NOTHROW(fixture.cluster.sql(0, row + " NOWAIT")); });
}

TEST_CASE("entities that follow new ones are not looked for before they are inserted") {
  StoreFixture fixture;
  const auto looks = [&] { return fixture.cluster.status(0, "Com_select"); };
  shard::Shards shards = fixture.shards();
  write::Writer writer(shards);
  // Puts two together, because one alone is looked for in the statement that locks the fence.
  const auto looks_of_put = [&](int number) {
    const std::uint64_t before = looks();
    std::array<WriteResult, 2> results;
    std::vector<write::Write> writes;
    for (WriteResult& result : results) {
      result.text = entity(fmt::format("{:032x}", number), R"("n":0)");
      writes.push_back(write::encode_put(shards, result, {}).value());
      number += 2;
    }
    writer.write_batch(writes, shards.deadline());
    CHECK(results[0].status == WriteStatus::stored);
    CHECK(results[1].status == WriteStatus::stored);
    return looks() - before;
  };
  static_cast<void>(looks_of_put(0x20));               // connects
  const std::uint64_t known = looks_of_put(0x20) - 1;  // the fence was locked twice
  CHECK(looks_of_put(0x30) == known);                  // they may not be new either
  CHECK(looks_of_put(0x40) == known - 1);
}

TEST_CASE("one broken shard leaves a batch one transaction for all others of its server") {
  StoreFixture fixture(12);
  fixture.cluster.sql(4, "RENAME TABLE entities TO gone");
  std::vector<std::string> texts;
  for (int number = 0; number < 12; number += 2) {  // one on each shard of the first server
    texts.push_back(entity(number, R"("n":0)"));
  }
  const auto commits = [&] { return fixture.cluster.status(0, "Com_commit"); };
  const std::uint64_t before = commits();
  const std::vector<WriteResult> results = fixture.datastore.put(texts);
  CHECK(commits() == before + 1);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CAPTURE(i);
    CHECK(results[i].status == (i == 2 ? WriteStatus::failed : WriteStatus::stored));
  }
  CHECK(context_of(results[2].error.value(), "shard") == "4");
}

TEST_CASE("a store that knows the shards asks none that it has nothing to write on") {
  StoreFixture fixture;
  const std::string on_shard_1 = R"({"id": "00000000000000000000000000000011"})";
  REQUIRE(put_one(fixture.datastore, on_shard_1) == WriteStatus::stored);
  const auto selects = [&] { return fixture.cluster.status(0, "Com_select"); };
  const std::uint64_t before = selects(), asking = selects() - before;  // MySQL counts that as well
  REQUIRE(put_one(fixture.datastore, on_shard_1) == WriteStatus::stored);
  CHECK(selects() == before + 2 * asking);
}

}  // namespace
}  // namespace looseleaf::test

// Comparing two stores: every difference is found, and nothing else, also while one follows the other.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "feed/position.hpp"
#include "job/jobs.hpp"
#include "shard/fence.hpp"
#include "shard/placement.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/proof.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

using Found = std::multiset<std::string>;

std::string line(const std::string& kind, std::uint64_t number) {
  return kind + ' ' + id_of(number);
}

const base::Stamp far_future = base::parse_stamp("2999-01-01 00:00:00");

// A store and another one, which has another number of shards.
struct TwoStores {
  // Puts an entity into one store, or into both.
  static void put(StoreFixture& store, std::uint64_t number, const std::string& members = R"("n":1)") {
    CHECK(put_one(store.datastore, entity(number, members)) == WriteStatus::stored);
  }
  void put(std::uint64_t number, const std::string& members = R"("n":1)") {
    put(here, number, members);
    put(there, number, members);
  }
  // Puts the first entities into both stores.
  void fill(std::uint64_t count) {
    for (StoreFixture* const store : {&here, &there}) {
      store->fill(count, R"("n":{},"text":"some text")");
    }
  }

  CompareReport compare(std::uint32_t grace = 0) {
    found.clear();
    options.grace_seconds = grace;
    options.on_difference = [this](const Difference& difference) {
      CHECK(difference.shard == difference.entity_id.bytes.back() % here.cluster.shards());
      found.insert(to_string(difference.kind) + ' ' + to_string(difference.entity_id));
      reason = difference.reason;
    };
    return here.datastore.compare(there.datastore, options, control);
  }

  // What a copier would store: it has applied everything of a shard of `here` below this stamp to `there`, unless it
  // still reads all entities.
  void set_position(std::uint32_t shard, const base::Stamp& barrier, bool scans = false) {
    shard::Shards shards = there.shards();
    const Uuid origin = here.shards().cluster_id();
    shard::with_shard(shards, 0, shards.deadline(), [&](const sql::Database& database) {
      job::JobRow row;
      row.job = "copy";
      row.detail = to_string(origin) + " begun";
      job::write_job(database, row);
      feed::ShardPosition position{{barrier, 0}};
      if (scans) {
        position.scan = {0, 1};
      }
      row.table = std::to_string(shard);
      row.barrier = barrier;
      row.detail = feed::to_text({origin, {position}});
      job::write_job(database, row);
    });
  }
  base::Stamp barrier(std::uint32_t shard) {
    shard::Shards shards = here.shards();
    return shard::take_barrier(shards, shard, shards.deadline());
  }

  StoreFixture here{2}, there{5};
  CompareOptions options;
  JobControl control;
  Found found;
  std::string reason;  // of the last difference
};

// 10,000 of them in a full run.
TEST_CASE("a thousand differences of every kind are found, and nothing else") {
  TwoStores stores;
  const std::uint64_t entities = full_run() ? 240'000 : 24'000;  // ids are read in two parts at least
  stores.fill(entities);
  Found planted;
  std::vector<std::string> newer_here, changed_there;
  std::vector<Uuid> deleted_there;
  for (std::uint64_t number = 0; number < entities; number += 96) {
    deleted_there.push_back(uuid_of(number));
    changed_there.push_back(entity(1'000'000 + number));
    changed_there.push_back(entity(number + 1, fmt::format(R"("n":{},"text":"some uext")", number + 1)));
    newer_here.push_back(entity(number + 2, R"("n":-1,"text":"the other store has the older version")"));
    planted.insert({line("missing", number), line("extra", 1'000'000 + number), line("different", number + 1),
                    line("different", number + 2)});
  }
  stores.here.datastore.put(newer_here);
  stores.there.datastore.put(changed_there);
  stores.there.datastore.remove(deleted_there);
  const CompareReport report = stores.compare();
  CHECK(report.found == planted.size());
  CHECK(stores.found == planted);
  CHECK(report.entities == entities);
  CHECK(report.other_entities == entities);
  CHECK(report.shards.at(1).differences.at(DifferenceKind::different) == planted.size() / 4);
  CHECK_FALSE(report.same());
}

TEST_CASE("stores of different numbers of shards are the same if their texts are, however they are stored") {
  TwoStores stores;
  stores.fill(500);
  stores.put(1000, fmt::format(R"("text":"{:100000}")", ""));  // it is read by itself
  TwoStores::put(stores.here, 2000);
  stores.here.datastore.remove({uuid_of(2000)});  // a tombstone in one store only
  stores.there.cluster.everywhere("UPDATE entities SET body = COMPRESS(UNCOMPRESS(body))");
  const std::uint32_t wrong = (shard::shard_of(uuid_of(3000), 5) + 1) % 5;  // where nobody finds it
  stores.there.cluster.sql(wrong,
                           fmt::format("INSERT INTO entities (id, updated, body) SELECT x'{}', NOW(6), body FROM "
                                       "entities WHERE body IS NOT NULL LIMIT 1",
                                       id_of(3000)));
  const CompareReport report = stores.compare();
  CHECK(report.same());
  CHECK(report.entities == 501);
  CHECK(report.other_entities == 501);
  CHECK(report.looked_again == 0);
}

TEST_CASE("a damaged body is a finding of the store that has it, also if both have the same") {
  TwoStores stores;
  stores.fill(5);
  const auto damage = [](const StoreFixture& store, std::uint64_t number) {
    store.cluster.sql(shard::shard_of(uuid_of(number), store.cluster.shards()),
                      fmt::format("UPDATE entities SET body = 'broken' WHERE id = x'{}'", id_of(number)));
  };
  damage(stores.here, 1);
  damage(stores.there, 2);
  damage(stores.here, 3);
  damage(stores.there, 3);
  const CompareReport report = stores.compare();
  CHECK(stores.found ==
        Found{line("unreadable", 1), line("other_unreadable", 2), line("unreadable", 3), line("other_unreadable", 3)});
  CHECK(report.found == 4);
  CHECK(stores.reason == "a stored body cannot be decompressed");
}

TEST_CASE("of independent stores a difference counts only if neither changes it during the grace period") {
  TwoStores stores;
  TwoStores::put(stores.here, 1);
  TwoStores::put(stores.here, 2);
  int waits = 0;
  stores.options.on_wait = [&](std::chrono::seconds time) {
    ++waits;
    CHECK(time == std::chrono::seconds(1));
    TwoStores::put(stores.there, 1);
  };
  const CompareReport report = stores.compare(1);
  CHECK(stores.found == Found{line("missing", 2)});
  CHECK(report.looked_again == 2);
  CHECK(report.in_flight == 1);
  CHECK(waits == 1);
  CHECK_FALSE(report.follows);
}

TEST_CASE("an entity that is written all the time is unsettled, and no difference") {
  TwoStores stores;
  stores.put(1);
  stores.put(2);
  bool in_other = false;
  SUBCASE("in this store") {}
  SUBCASE("in the other store") {
    in_other = true;
  }
  SUBCASE("in the source of a copy") {
    stores.set_position(1, far_future);
  }
  Datastore writer = (in_other ? stores.there : stores.here).open();
  int version = 1;
  // Called before each reading.
  stores.control.on_progress = [&](const Progress&) {
    put_one(writer, entity(1, fmt::format(R"("n":{})", ++version)));
  };
  const CompareReport report = stores.compare();
  CHECK(stores.found == Found{line("unsettled", 1)});
  CHECK(stores.reason == "it is written all the time");
  CHECK(report.found == 0);
  CHECK(report.unsettled == 1);
  CHECK_FALSE(report.same());
}

TEST_CASE("a copy that had the version of the source that it had passed is the same, although there is a later one") {
  TwoStores stores;
  stores.put(1);
  stores.set_position(1, far_future);
  Datastore source = stores.here.open(), copy = stores.there.open();
  std::string last = entity(1, R"("n":1)");
  int version = 1;
  stores.control.on_progress = [&](const Progress&) {
    copy.put({last});
    last = entity(1, fmt::format(R"("n":{})", ++version));
    source.put({last});
  };
  CHECK(stores.compare().same());
}

TEST_CASE("a copy that ends while it is compared is no longer compared, because others may write to it") {
  TwoStores stores;
  stores.put(1);
  stores.set_position(0, far_future);
  stores.set_position(1, far_future);
  bool moved = false;
  SUBCASE("the store has moved to it") {
    moved = true;
  }
  SUBCASE("it was detached") {}
  stores.control.on_progress = [&](const Progress&) {
    TwoStores::put(stores.there, 2);
    stores.there.cluster.sql(0, moved ? "DO 0" : "DELETE FROM looseleaf_progress");
    stores.here.cluster.sql(0, moved ? "UPDATE looseleaf_shard SET access = 'moved'" : "DO 0");
  };
  CHECK(error_of([&] { return stores.compare(); }).code() == (moved ? ErrorCode::moved : ErrorCode::busy));
  CHECK(stores.found.empty());
}

TEST_CASE("a copy is waited for until it has passed the version of the source, and no longer") {
  TwoStores stores;
  stores.put(2, R"("n":1)");
  for (const std::uint32_t shard : {0, 1}) {
    stores.set_position(shard, stores.barrier(shard));
  }
  TwoStores::put(stores.here, 2, R"("n":2)");
  TwoStores::put(stores.there, 4);  // extra: nothing of the source is to come
  bool waited = false;
  stores.options.on_wait = [&](std::chrono::seconds) {
    waited = true;
    TwoStores::put(stores.there, 2, R"("n":2)");
    stores.set_position(0, stores.barrier(0));
  };
  const CompareReport report = stores.compare(60);
  CHECK(waited);
  CHECK(report.follows);
  CHECK(report.in_flight == 1);
  CHECK(stores.found == Found{line("extra", 4)});
}

TEST_CASE("what a copy has passed counts at once, and what it does not reach in time is unsettled") {
  TwoStores stores;
  stores.put(1, R"("n":1)");
  TwoStores::put(stores.here, 1, R"("n":2)");
  TwoStores::put(stores.here, 2);
  stores.put(4);
  stores.here.datastore.remove({uuid_of(4)});
  stores.set_position(0, base::Stamp());
  stores.set_position(1, stores.barrier(1));
  SUBCASE("because it is late") {}
  SUBCASE("because it has come to that version, but not passed it") {
    const std::string stamp = stores.here.cluster.sql(0, "SELECT updated FROM entities WHERE id = x'" + id_of(2) + "'");
    stores.set_position(0, base::parse_stamp(stamp.substr(0, stamp.find('\n'))));
  }
  SUBCASE("because it still reads all entities") {
    stores.set_position(0, stores.barrier(0), true);
  }
  const CompareReport report = stores.compare(1);
  CHECK(stores.found == Found{line("different", 1), line("unsettled", 2), line("unsettled", 4)});
  CHECK(stores.reason == "the copy has not reached its latest version");
  CHECK(report.found == 1);
  CHECK(report.unsettled == 2);
}

// Applies what changes in one store to the other one, as a copier does, until it is told to stop.
class Copier {
 public:
  explicit Copier(TwoStores& stores)
      : stores_(stores),
        cluster_id_(stores.here.shards().cluster_id()),
        source_(stores.here.open()),
        copy_(stores.there.open()) {
    round();
    thread_ = std::thread([this] {
      while (!stop_) {
        round();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
  }
  ~Copier() {
    stop_ = true;
    thread_.join();
  }

 private:
  void round() {
    ChangesOptions options;
    options.after = after_;
    FeedReport report;
    source_.changes(
        options, [this](const ChangeBatch& batch) { return apply(batch); }, report);
    after_ = report.position;
    const feed::Position position = feed::parse_position(after_, cluster_id_, source_.shard_count());
    for (std::uint32_t shard = 0; shard < source_.shard_count(); ++shard) {
      stores_.set_position(shard, position.shards[shard]->place.updated);
    }
  }

  bool apply(const ChangeBatch& batch) {
    std::vector<std::string> texts;
    std::vector<Uuid> deleted;
    for (const Change& change : batch.changes) {
      if (change.kind == Change::Kind::stored) {
        texts.push_back(change.text);
      } else {
        deleted.push_back(change.id);
      }
    }
    copy_.put(texts);
    copy_.remove(deleted);
    return true;
  }

  TwoStores& stores_;
  const Uuid cluster_id_;
  Datastore source_, copy_;
  std::string after_ = "beginning";
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_CASE("while writers run and a copy follows, there is no false alarm, and a planted difference is found") {
  constexpr std::uint64_t entities = 3000;
  TwoStores stores;
  stores.fill(entities);
  const Copier copier(stores);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    Datastore store = stores.here.open();
    std::mt19937 random(1);
    for (int n = 0; !stop; ++n) {
      const std::uint64_t number = random() % (entities + 500);  // some are new
      if (n % 5 == 0) {
        store.remove({uuid_of(number)});
      } else {
        put_one(store, entity(number, fmt::format(R"("n":{})", -n)));
      }
    }
  });
  std::uint64_t in_flight = 0;
  for (int round = 0; round < 5; ++round) {
    const CompareReport report = stores.compare(20);
    CHECK(report.follows);
    CHECK_MESSAGE(report.same(), stores.reason);
    in_flight += report.in_flight;
  }
  CHECK(in_flight > 0);
  TwoStores::put(stores.there, 1'000'000);
  static_cast<void>(stores.compare(20));
  CHECK(stores.found == Found{line("extra", 1'000'000)});
  stop = true;
  writer.join();
}

TEST_CASE("a comparison reports the progress of both stores, and ends when it is asked to stop") {
  TwoStores stores;
  stores.fill(10);
  std::set<bool> seen;
  stores.control.on_progress = [&](const Progress& progress) { seen.insert(progress.in_other); };
  CHECK(stores.compare().same());
  CHECK(seen == std::set<bool>{false, true});
  stores.control.stop = true;
  CHECK_THROWS_WITH_AS(static_cast<void>(stores.compare()), "interrupted before everything was compared", Error);
}

TEST_CASE("if a store fails, the comparison does not read the other one to its end, and says which one failed") {
  TwoStores stores;
  stores.fill(2000);
  stores.there.cluster.sql(3, "RENAME TABLE entities TO away");
  stores.options.throttle.max_rate = 100;  // for 20 s
  const auto start = std::chrono::steady_clock::now();
  const Error error = error_of([&] { return stores.compare(); });
  CHECK(context_of(error, "cluster_file") == stores.there.cluster.file());
  CHECK(context_of(error, "shard") == "3");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

}  // namespace
}  // namespace looseleaf::test

// Writes of unique values: which of them are stored, which are rejected, and that none of them is kept by an entity
// that does not have it any more.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/lock_holder.hpp"
#include "tests/support/store_fixture.hpp"
#include "write/encode.hpp"
#include "write/put.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint64_t numbers = 20;  // of entities

std::string name_of(const Uuid& id) {
  for (std::uint64_t number = 0; number < numbers; ++number) {
    if (id == uuid_of(number)) {
      return std::to_string(number);
    }
  }
  return to_string(id);
}

std::string outcome_of(const WriteResult& result) {
  switch (result.status) {
    case WriteStatus::stored:
      return "stored";
    case WriteStatus::rejected:
      return result.holder ? "taken by " + name_of(*result.holder) : "rejected";
    case WriteStatus::exists:
      return "exists";
    case WriteStatus::failed:
      return result.error->code() == ErrorCode::corrupt ? "corrupt" : "failed";
    default:
      return "other";
  }
}

TEST_CASE("a definition built in memory that no file could have is refused, and the store stays as it was") {
  StoreFixture fixture;
  IndexDefinition local;
  local.table = "by_email";
  local.properties = {{.name = "email"}};
  IndexDefinition unplaced = local, beyond = local, foreign = local, unsorted = local, latin1 = local,
                  latin1_path = local, latin1_value = local, no_number = local, long_number = local;
  unplaced.unique = true;
  beyond.shard_on = 7;
  foreign.table = "entities";
  latin1.properties.front().name =
      "gr\xF6\xDF"
      "e";
  latin1_path.where = {
      {"gr\xF6\xDF"
       "e",
       true}};
  latin1_value.where = {{"a", "gr\xFCn"}};
  no_number.where = {{"a", std::numeric_limits<double>::quiet_NaN()}};
  long_number.properties = {{.name = "n", .type = PropertyType::integer, .max_length = 10}};
  for (const IndexDefinition& definition :
       {unplaced, beyond, foreign, latin1, latin1_path, latin1_value, no_number, long_number}) {
    CHECK(error_of([&] { fixture.datastore.create_indexes({definition}); }).code() == ErrorCode::bad_definition);
    CHECK(error_of([&] { static_cast<void>(fixture.datastore.plan_indexes({definition})); }).code() ==
          ErrorCode::bad_definition);
  }
  CHECK(fixture.datastore.put({entity(0, R"("email":"a")")}).front().status == WriteStatus::stored);
  unsorted.where = {{"b", -0.0}, {"a", true}};
  CHECK(fixture.datastore.create_indexes({unsorted}).front().created);
  CHECK(!fixture.datastore.create_indexes({unsorted}).front().created);
}

// Four shards on two servers. Entities of even numbers are on the first server.
struct Unique : StoreFixture {
  explicit Unique(TestCluster&& on = TestCluster::shared(4), const char* definition = by_n_unique)
      : StoreFixture(std::move(on)), mine(shards()), writer(mine) {
    create_index(definition);
  }

  // Writes the entities in one batch: the members by number; a delete if there is no text. Returns the outcomes.
  std::string write(const std::map<std::uint64_t, std::string>& entities) {
    results.assign(entities.size(), WriteResult());
    std::vector<write::Write> writes;
    for (const auto& [number, members] : entities) {
      WriteResult& result = results[writes.size()];
      if (members.empty()) {
        result.id = uuid_of(number);
        writes.push_back({uuid_of(number), std::nullopt, std::nullopt, &result});
      } else {
        result.text = entity(number, members);
        writes.push_back(write::encode_put(mine, result, {}).value());
      }
    }
    writer.write_batch(writes, mine.deadline());
    std::vector<std::string> outcomes;
    std::transform(results.begin(), results.end(), std::back_inserter(outcomes), outcome_of);
    return fmt::format("{}", fmt::join(outcomes, ", "));
  }
  std::string write_one(std::uint64_t number, const std::string& members) { return write({{number, members}}); }

  // What the index finds, as "number:value", in its order.
  [[nodiscard]] std::string values() const {
    Query query;
    query.index = "by_n";
    std::vector<std::string> found;
    datastore.query(query, [&](const Entity& entity) {
      found.push_back(name_of(entity.id) + ":" + nlohmann::json::parse(entity.json).at("n").dump());
      return true;
    });
    return fmt::format("{}", fmt::join(found, ", "));
  }

  shard::Shards mine;
  write::Writer writer;
  std::vector<WriteResult> results;  // of the last batch
};

TEST_CASE_FIXTURE(Unique,
                  "a put of a value that another entity has is rejected and names that entity, which may give it up") {
  create_index(R"({"table": "by_m", "properties": [{"name": "m", "type": "int", "each": true}], "shard_on": "m"})");
  CHECK(write_one(1, R"("n":5)") == "stored");
  CHECK(write_one(2, R"("n":5,"m":[1,2,3])") == "taken by 1");
  CHECK(results[0].error->code() == ErrorCode::refused);
  CHECK(findings().empty());  // also no row of it in by_m
  CHECK(write_one(1, R"("n":5,"m":[1])") == "stored");
  SUBCASE("by a put") {
    CHECK(write_one(1, R"("n":6)") == "stored");
  }
  SUBCASE("by a delete") {
    CHECK(write_one(1, "") == "stored");
  }
  CHECK(write_one(2, R"("n":5,"m":[1,2,3])") == "stored");
  CHECK(query("by_n", {"n=5"}) == std::vector<std::string>{id_of(2)});
  CHECK(findings().empty());
}

TEST_CASE_FIXTURE(Unique,
                  "of the writes of one batch that take the same value one is stored, and it is named to the others") {
  CHECK(write({{0, R"("n":5)"}, {2, R"("n":5)"}, {4, R"("n":6)"}, {6, R"("n":5)"}}) ==
        "stored, taken by 0, stored, taken by 0");
  CHECK(write({{0, R"("n":7)"}, {2, R"("n":7)"}, {8, R"("n":5)"}}) == "stored, taken by 0, stored");
  CHECK(findings().empty());
}

TEST_CASE_FIXTURE(Unique, "a value that a write of the batch gives up is taken by another one of it") {
  CHECK(write({{2, R"("n":1)"}, {4, R"("n":2)"}, {6, R"("n":3)"}, {8, R"("n":4)"}}) ==
        "stored, stored, stored, stored");
  SUBCASE("in a chain, one after the other") {
    CHECK(write({{0, R"("n":1)"}, {2, R"("n":2)"}, {4, R"("n":3)"}, {6, R"("n":9)"}}) ==
          "stored, stored, stored, stored");
    CHECK(values() == "0:1, 2:2, 4:3, 8:4, 6:9");
  }
  SUBCASE("that deletes the entity") {
    CHECK(write({{0, R"("n":1)"}, {2, ""}}) == "stored, stored");
  }
  SUBCASE("unless that one is rejected itself") {
    CHECK(write({{0, R"("n":1)"}, {2, R"("n":2)"}}) == "taken by 2, taken by 4");
  }
  CHECK(findings().empty());
}

TEST_CASE_FIXTURE(Unique,
                  "a value that an earlier write of the stream gives up is taken by a later one on another server") {
  fill(numbers);
  std::map<std::uint64_t, std::string> outcomes;  // by sequence number
  {
    WriteStream stream(datastore, [&](const WriteResult& result) { outcomes[result.sequence] = outcome_of(result); });
    for (std::uint64_t number = numbers; number-- > 0;) {
      stream.put(entity(number, fmt::format(R"("n":{})", number + 1)));
    }
    stream.put(entity(4, R"("n":500)"));  // a free value, but the earlier write of this entity waits
    stream.finish();
  }
  for (std::uint64_t sequence = 0; sequence <= numbers; ++sequence) {
    CAPTURE(sequence);
    CHECK(outcomes.at(sequence) == "stored");
  }
  CHECK(values() ==
        "0:1, 1:2, 2:3, 3:4, 5:6, 6:7, 7:8, 8:9, 9:10, 10:11, 11:12, 12:13, 13:14, 14:15, 15:16, 16:17, 17:18, "
        "18:19, 19:20, 4:500");
}

TEST_CASE("a value that an earlier write of the stream gives up is taken although the stream did not know the index") {
  StoreFixture store(TestCluster::shared(4));
  store.fill(numbers);  // from now on it knows the catalogs
  create_index(store.cluster, by_n_unique);
  check_status(store.cluster.looseleaf({"backfill", "--quiet"}), 0);
  WriteStream stream(store.datastore, [](const WriteResult& result) { CHECK(outcome_of(result) == "stored"); });
  for (std::uint64_t number = numbers; number-- > 0;) {
    stream.put(entity(number, fmt::format(R"("n":{})", number + 1)));
  }
  stream.finish();
  CHECK(store.findings().empty());
}

TEST_CASE_FIXTURE(Unique,
                  "a put waits for the last earlier one of the entity that has its value, even if one was held" *
                      needs_failpoints) {
  REQUIRE(write_one(0, R"("n":1)") == "stored");
  // An id that comes again begins another batch. In the second, the fence is free.
  const std::vector<std::string> entities = {entity(0, R"("n":1,"x":1)"), entity(6, R"("n":100)"),
                                             entity(6, R"("n":101)"), entity(0, R"("n":2)"), entity(2, R"("n":1)")};
  std::optional<LockHolder> holder(std::in_place, *this, 0, lock_of_fence);
  cli::Process put =
      cluster.start({"put"}, fmt::format("{}\n", fmt::join(entities, "\n")), "put.fence:before@0#2=stop");
  REQUIRE(wait_until_stopped(put));
  holder.reset();
  check_status(resume(put), 0, {});
  CHECK(values() == "2:1, 0:2, 6:101");
}

TEST_CASE_FIXTURE(Unique, "a put waits for an earlier one that repairs the unreadable entity that has its value" *
                              needs_failpoints) {
  REQUIRE(write_one(0, R"("n":1)") == "stored");
  cluster.sql(0, fmt::format("UPDATE entities SET body = 'damaged' WHERE id = x'{}'", id_of(0)));
  const std::string input = entity(0, R"("n":2)") + "\n" + entity(1, R"("n":1)") + "\n";
  check_status(cluster.start({"put"}, input, "put.fence:before@0=sleep:500").wait(), 0, {});
  CHECK(values() == "1:1, 0:2");
}

TEST_CASE_FIXTURE(Unique, "a merge that is rejected names the entity that has its value") {
  datastore.put({entity(1, R"("n":5)"), entity(2, R"("n":6)")});
  CHECK(outcome_of(datastore.merge({entity(2, R"("n":5)")}).front()) == "taken by 1");
}

TEST_CASE_FIXTURE(Unique, "a merge takes a value that an earlier merge of the same input gives up") {
  REQUIRE(write({{0, R"("n":1)"}, {1, R"("n":50)"}}) == "stored, stored");
  const std::string input = entity(0, R"("a":1)") + "\n" + entity(0, R"("n":2)") + "\n" + entity(1, R"("n":1)") + "\n";
  check_status(cluster.looseleaf({"put", "--merge"}, input), 0, {});
  CHECK(values() == "1:1, 0:2");
}

TEST_CASE_FIXTURE(Unique, "writes of a batch that take each other's values are all rejected, and nothing changes") {
  CHECK(write({{0, R"("n":1)"}, {2, R"("n":2)"}, {4, R"("n":3)"}}) == "stored, stored, stored");
  CHECK(write({{0, R"("n":2)"}, {2, R"("n":1)"}, {6, R"("n":6)"}}) == "taken by 2, taken by 0, stored");
  CHECK(write({{0, R"("n":2)"}, {2, R"("n":3)"}, {4, R"("n":1)"}, {8, R"("n":8)"}}) ==
        "taken by 2, taken by 4, taken by 0, stored");
  CHECK(values() == "0:1, 2:2, 4:3, 6:6, 8:8");
  CHECK(findings().empty());
}

TEST_CASE_FIXTURE(Unique, "the value of a put that died before its commit is free" * needs_failpoints) {
  SUBCASE("of an entity that never came to be") {}
  SUBCASE("of an entity that exists") {
    CHECK(write_one(2, R"("n":3)") == "stored");
  }
  SUBCASE("of an entity that is written in the same batch") {
    cluster.die_at("put.commit:before", {"put"}, entity(2, R"("n":5)"));
    CHECK(write({{0, R"("n":5)"}, {2, R"("n":7)"}}) == "stored, stored");
  }
  if (query("by_n", {"n=5"}).empty()) {
    cluster.die_at("put.commit:before", {"put"}, entity(2, R"("n":5)"));
    CHECK(write_one(0, R"("n":5)") == "stored");
  }
  CHECK(query("by_n", {"n=5"}) == std::vector<std::string>{id_of(0)});
  CHECK(findings().empty());
}

// The row that the other put has inserted is committed, or the one that it will delete is still there.
TEST_CASE_FIXTURE(Unique,
                  "a put waits for the commit of another one that takes the value or gives it up" * needs_failpoints) {
  std::string text = entity(1, R"("n":5)"), expected = "stored";
  bool dies = false;
  SUBCASE("one that takes it") {
    expected = "taken by 1";
  }
  SUBCASE("one that takes it and dies") {
    dies = true;
  }
  SUBCASE("one that gives it up") {
    CHECK(write_one(1, R"("n":5)") == "stored");
    text = entity(1, R"("n":6)");
  }
  cli::Process first = cluster.stop_at("put.commit:before", {"put"}, text);
  std::string outcome;
  std::jthread second([&] { outcome = write_one(2, R"("n":5)"); });
  CHECK(cluster.await_lock_wait(1));
  if (dies) {
    first.signal(SIGKILL);
  }
  CHECK((resume(first).status == 0) == !dies);
  second.join();
  CHECK(outcome == expected);
  CHECK(findings().empty());
}

TEST_CASE("a holder whose server is down fails the writes of its value alone, and the others are stored before") {
  Unique store(TestCluster({3, 3, {}}));
  REQUIRE(store.write_one(2, R"("n":1)") == "stored");
  shard::Shards patient = store.shards(std::chrono::seconds(8));
  write::Writer writer(patient);
  std::vector<WriteResult> results(3);
  std::vector<write::Write> writes;
  for (const std::uint64_t number : {0U, 3U, 6U}) {
    WriteResult& result = results[number / 3];
    result.text = entity(number, fmt::format(R"("n":{})", number + 1));
    writes.push_back(write::encode_put(patient, result, {}).value());
  }
  store.cluster.sandbox().kill_server(2);
  std::jthread put([&] { writer.write_batch(writes, patient.deadline()); });
  wait_until(
      "the others are stored", [&] { return store.cluster.sql(0, "SELECT COUNT(*) FROM entities") == "2\n"; },
      std::chrono::seconds(6));  // long before the deadline
  put.join();
  CHECK(outcome_of(results[0]) == "failed");
  CHECK(results[0].error->code() == ErrorCode::unavailable);
  CHECK(context_of(*results[0].error, "shard") == "2");
  CHECK(context_of(*results[0].error, "values") == "[1]");
  CHECK(context_of(*results[0].error, "holder") == id_of(2));
  CHECK(outcome_of(results[1]) == "stored");
  CHECK(outcome_of(results[2]) == "stored");
  const auto begin = std::chrono::steady_clock::now();  // a server is waited for once, not in every batch
  results[0] = {};
  results[0].text = entity(0, R"("n":1)");
  writes = {write::encode_put(patient, results[0], {}).value()};
  writer.write_batch(writes, patient.deadline());
  CHECK(outcome_of(results[0]) == "failed");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(7));
  store.cluster.sandbox().start_server(2);
  CHECK(store.write_one(0, R"("n":1)") == "taken by 2");
  CHECK(store.findings().empty());
}

// Another put was rejected, or died, while a server was down, and so its row stays.
TEST_CASE("a superfluous row blocks nobody while a server is down that has neither it nor its entity") {
  Unique store(TestCluster({4, 4, {}}));
  SUBCASE("of an entity that never came to be") {}
  SUBCASE("of an entity that exists") {
    REQUIRE(store.write_one(1, R"("n":5)") == "stored");
  }
  store.cluster.sql(2, fmt::format("INSERT INTO by_n VALUES (6, x'{}')", id_of(1)));
  store.cluster.sandbox().kill_server(3);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(store.write({{0, R"("n":6)"}, {4, R"("n":8)"}}) == "stored, stored");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  store.cluster.sandbox().start_server(3);
  CHECK(store.findings().empty());
}

TEST_CASE_FIXTURE(Unique, "a value kept by a row that a drop which died has left fails its write alone, and at once" *
                              needs_failpoints) {
  REQUIRE(write_one(0, R"("n":1)") == "stored");
  cluster.die_at("drop.stop_writers:after@0", {"drop-index", "by_n", "--yes"});
  REQUIRE(put_one(datastore, "{\"id\":\"" + id_of(0) + "\",\"n\":2}") == WriteStatus::stored);  // without the index
  const auto begin = std::chrono::steady_clock::now();
  CHECK(write({{1, R"("n":1)"}, {3, R"("n":3)"}, {5, R"("n":4)"}}) == "failed, stored, stored");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));  // the timeout is 20
  const Error& error = *results[0].error;
  CHECK(std::string(error.what()) ==
        "a unique value is kept by a row that nobody removes: the index is not maintained on the shard of its entity");
  CHECK(context_of(error, "shard") == "0");
  CHECK(context_of(error, "holder") == id_of(0));
  CHECK(contains(error.hint(), "wait for that, or run `looseleaf drop-index by_n` to finish it"));
  REQUIRE(cluster.looseleaf({"drop-index", "by_n", "--yes"}).status == 0);
  CHECK(write_one(1, R"("n":1)") == "stored");
}

TEST_CASE_FIXTURE(Unique, "a holder whose database belongs to another cluster fails the writes of its value alone") {
  CHECK(write_one(1, R"("n":4)") == "stored");
  Cluster other;
  other.shards = {Cluster::load(cluster.file()).shards[1]};
  cluster.sql(1, "DROP DATABASE " + cluster.database(1));
  Datastore::open(other, options(std::chrono::seconds(20))).init();
  const auto begin = std::chrono::steady_clock::now();
  CHECK(write({{0, R"("n":4)"}, {4, R"("n":8)"}}) == "failed, stored");
  CHECK(results[0].error->code() == ErrorCode::wrong_cluster);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));  // it is not retried
}

TEST_CASE_FIXTURE(Unique,
                  "the value of an entity that cannot be read is not given to another one before it is deleted") {
  CHECK(write_one(1, R"("n":5)") == "stored");
  cluster.sql(1, "UPDATE entities SET body = 'damaged'");
  CHECK(write({{0, R"("n":5)"}, {2, R"("n":6)"}}) == "corrupt, stored");
  CHECK(context_of(*results[0].error, "holder") == id_of(1));
  CHECK(write_one(1, "") == "stored");
  CHECK(write_one(0, R"("n":5)") == "stored");
  CHECK(findings().empty());
}

TEST_CASE("a unique property that is immutable as well is kept until its entity is deleted") {
  Unique store(TestCluster::shared(4),
               R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}], "shard_on": "n",
                   "unique": true, "immutable": true})");
  CHECK(store.write({{0, R"("n":4)"}, {2, R"("n":6)"}}) == "stored, stored");
  CHECK(store.write({{0, R"("n":8)"}, {2, R"("n":4)"}}) == "rejected, rejected");
  CHECK(store.write_one(4, R"("n":4)") == "taken by 0");
  CHECK(store.write({{0, ""}, {4, R"("n":4)"}}) == "stored, stored");
  // A leftover row of the entity itself, and one of another entity in the place of the right one.
  store.cluster.sql(0, fmt::format("INSERT INTO by_n VALUES (12, x'{}'), (16, x'{}')", id_of(8), id_of(6)));
  CHECK(store.write_one(8, R"("n":16)") == "stored");
  CHECK(store.values() == "4:4, 2:6, 8:16");
  CHECK(store.findings().empty());
}

TEST_CASE("each element of a list is unique, and one that is taken rejects the whole entity") {
  Unique store(TestCluster::shared(4),
               R"({"table": "by_tag", "properties": [{"name": "tags", "type": "string", "each": true}],
                   "shard_on": "tags", "unique": true})");
  CHECK(store.write_one(0, R"("tags":["a","b","a"])") == "stored");
  CHECK(store.write_one(1, R"("tags":["c","b","d"])") == "taken by 0");
  CHECK(store.write({{2, R"("tags":["c","d"])"}, {4, R"("tags":["f"])"}, {6, R"("tags":["e","d"])"}}) ==
        "stored, stored, taken by 2");
  CHECK(store.write({{0, R"("tags":["a"])"}, {6, R"("tags":["e","b"])"}}) == "stored, stored");
  CHECK(store.findings().empty());
}

TEST_CASE("values are the same if they are the same in the table, and only then") {
  Unique store(TestCluster::shared(4),
               R"({"table": "by_s", "properties": [{"name": "s", "type": "string"}, {"name": "d", "type": "double"}],
                   "shard_on": "s", "unique": true})");
  CHECK(store.write_one(0, R"("s":"a","d":1)") == "stored");
  CHECK(store.write_one(2, R"("s":"a","d":1.0)") == "taken by 0");
  CHECK(store.write_one(2, R"("s":"a","d":0)") == "stored");
  CHECK(store.write_one(4, R"("s":"a","d":-0.0)") == "taken by 2");
  CHECK(store.write({{4, R"("s":"a","d":-0.0)"}, {6, R"("s":"a","d":0.1)"}}) == "taken by 2, stored");
  CHECK(store.write_one(8, R"("s":"a","d":0.10000000000000000555)") == "taken by 6");
  CHECK(store.write_one(8, R"("s":"a","d":0.10000000000000002)") == "stored");
  CHECK(store.write_one(10, R"("s":"A","d":1)") == "stored");
  CHECK(store.write_one(12, R"("s":"a ","d":1)") == "stored");
  CHECK(store.write_one(14, R"("s":"\u00e4","d":1)") == "stored");
  CHECK(store.write_one(16, R"("s":"a\u0308","d":1)") == "stored");
  CHECK(store.write_one(18, R"("s":"","d":1)") == "stored");
  CHECK(store.write_one(1, R"("s":"\u00E4","d":1e0)") == "taken by 14");
  CHECK(store.write_one(1, R"("s":"'\\\"\u0000","d":5e-324)") == "stored");
  CHECK(store.write_one(3, R"("s":"'\\\"\u0000","d":5e-324)") == "taken by 1");
  CHECK(store.write_one(3, R"("s":"a")") == "stored");  // without the other property it has no row
  CHECK(store.write_one(5, R"("s":"a","d":null)") == "stored");
  CHECK(store.findings().empty());
}

TEST_CASE("a value that is too long for a unique index is rejected, and only by that index") {
  Unique store(TestCluster::shared(4),
               R"({"table": "by_s", "properties": [{"name": "s", "type": "string", "max_length": 3, "each": true}],
                   "shard_on": "s", "unique": true, "where": {"k": 1}})");
  CHECK(store.write({{0, R"("s":["abc","\u00e4\u00f6\u00fc"],"k":1)"}, {2, R"("s":["d","abcd"],"k":1)"}}) ==
        "stored, rejected");
  CHECK(store.results[1].error->code() == ErrorCode::refused);
  CHECK(store.write_one(2, R"("s":["abcd"],"k":2)") == "stored");
  CHECK(store.write_one(4, R"("s":"abcd","k":1)") == "stored");  // no list, so it has no row anyway
  CHECK(store.findings().empty());
}

TEST_CASE_FIXTURE(Unique, "an entity that should be absent and is there counts as that, whoever has its value") {
  CHECK(write({{0, R"("n":5)"}, {2, R"("n":6)"}}) == "stored, stored");
  const WriteCondition absent = {WriteCondition::Kind::absent};
  CHECK(outcome_of(datastore.put({entity(2, R"("n":5)")}, absent).front()) == "exists");
  CHECK(outcome_of(datastore.put({entity(4, R"("n":5)")}, absent).front()) == "taken by 0");
  CHECK(outcome_of(datastore.put({entity(4, R"("n":7)")}, absent).front()) == "stored");
  CHECK(findings().empty());
}

// Each has reserved one of the values when it finds that the other has reserved the other one.
TEST_CASE("of entities that many processes put at once with the same two values exactly one is stored") {
  Unique store;
  store.create_index(
      R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}], "shard_on": "m", "unique": true})");
  constexpr int processes = 6, rounds = 10;
  std::vector<Datastore> others;
  for (int process = 0; process < processes; ++process) {
    others.push_back(store.open());
  }
  for (int round = 0; round < rounds; ++round) {
    std::vector<WriteResult> results(processes);
    {
      std::vector<std::jthread> threads;
      for (int process = 0; process < processes; ++process) {
        threads.emplace_back([&, process] {
          // On both servers, whose index rows are inserted at once.
          const std::string text =
              entity(static_cast<std::uint64_t>(process), fmt::format(R"("n":{0},"m":{1})", round, round + 1));
          results[static_cast<std::size_t>(process)] = others[static_cast<std::size_t>(process)].put({text}).front();
        });
      }
    }
    std::multiset<std::string> outcomes;
    std::string winner;
    for (const WriteResult& result : results) {
      outcomes.insert(outcome_of(result));
      winner = result.status == WriteStatus::stored ? name_of(*result.id) : winner;
    }
    CAPTURE(fmt::format("{}", fmt::join(outcomes, ", ")));
    CHECK(outcomes.count("stored") == 1);
    CHECK(outcomes.count("taken by " + winner) == processes - 1);
    store.datastore.remove({uuid_of(std::stoull(winner))});
  }
  CHECK(store.findings().empty());
}

// Entity 0 is on shard 0. The others that are stored need no reconcile, so the program does not die.
TEST_CASE_FIXTURE(Unique,
                  "one rejected put among 2,000 costs the others nothing but a second attempt" * needs_failpoints) {
  create_index(R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}], "shard_on": "m"})");
  CHECK(write_one(2, R"("n":0)") == "stored");
  std::string lines = entity(0, R"("n":0,"m":1)") + "\n";
  for (std::uint64_t number = 1; number < 2'000; ++number) {
    lines += entity(4 * number + 2 * (number % 2), fmt::format(R"("n":{0},"m":{0})", number)) + "\n";
  }
  cli::Process put = cluster.start({"put", "--quiet"}, lines, "put.reconcile:before@2=kill");
  CHECK(put.wait().status == 1);
  CHECK(findings().empty());
  CHECK(query("by_m", {"m=1"}).size() == 1);
  CHECK(rows_of(cluster, "by_n") == 2'000);
}

}  // namespace
}  // namespace looseleaf::test

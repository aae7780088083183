// Queries by a store that has seen the catalog before: what other processes changed meanwhile counts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <sstream>
#include <thread>

#include "cli/files/descriptor.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/sleeping_session.hpp"
#include "tests/support/sockets.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* by_user =
    R"({"table": "index_user", "properties": [{"name": "user", "type": "uuid"}], "shard_on": "user"})";
constexpr const char* by_user_and_age =
    R"({"table": "index_user", "properties": [{"name": "user", "type": "uuid"}, {"name": "age", "type": "int"}],
        "shard_on": "user"})";
constexpr const char* by_age = R"({"table": "index_user", "properties": [{"name": "age", "type": "int"}]})";
// Both on shard 1 of 2.
constexpr const char* id = "00000000000000000000000000000011";
constexpr const char* user = "00000000000000000000000000000021";
const std::string entity = std::string(R"({"id": ")") + id + R"(", "user": ")" + user + R"(", "age": 7})";
const std::vector<std::string> of_user{std::string("user=") + user};

// A store that has queried the index `by_user`, and another one that then replaced it.
struct Replaced : StoreFixture {
  Replaced() : other(open()) {
    create_index(by_user);
    REQUIRE(put_one(datastore, entity) == WriteStatus::stored);
    REQUIRE(query("index_user", of_user) == std::vector<std::string>{id});
  }

  void replace(const char* definition) {
    other.drop_index("index_user");
    other.create_indexes({IndexDefinition::parse(definition, "test")});
  }

  void backfill() {
    JobControl control;
    other.backfill({}, control);
  }

  // Statements that read, by a shard's server.
  [[nodiscard]] std::uint64_t selects(std::uint32_t shard) const { return cluster.status(shard, "Com_select"); }

  // How many of them one query for the user takes.
  std::uint64_t selects_of_query(std::uint32_t shard) {
    const std::uint64_t before = selects(shard), asking = selects(shard) - before;  // MySQL counts that as well
    CHECK(query("index_user", of_user) == std::vector<std::string>{id});
    return selects(shard) - before - 2 * asking;
  }

  // Asks shard 1 over a connection from before its server became read-only, which lasts for a moment.
  [[nodiscard]] bool is_answered_after_demotion(const std::function<void(const Datastore&)>& ask) const {
    const Datastore store = open();
    for (int time = 0; time < 3; ++time) {  // so that its statements are prepared
      ask(store);
    }
    cluster.server_sql(1, "SET GLOBAL read_only = 1");
    std::atomic<bool> is_over = false;
    const std::jthread promotion([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      is_over = true;
      cluster.server_sql(1, "SET GLOBAL read_only = 0");
    });
    ask(store);
    return !is_over;
  }

  std::string refusal(const std::vector<std::string>& conditions) {
    return error_of([&] { return query("index_user", conditions); }).what();
  }

  Datastore other;
};

// The servers under so many names that each shard seems to have one of its own, which are too many to open sessions on
// all of them ahead. That of shard 0 accepts connections, and is silent.
struct ManyServers : StoreFixture {
  ManyServers() : StoreFixture(9), silent(listen_at(cluster.directory().path() + "/0")) {
    create_index(by_user);
    REQUIRE(put_one(datastore, entity) == WriteStatus::stored);
    Cluster seen = Cluster::load(cluster.file());
    for (std::uint32_t shard = 0; shard < seen.shards.size(); ++shard) {
      const std::string name = fmt::format("{}/{}", cluster.directory().path(), shard);
      if (shard > 0) {
        std::filesystem::create_symlink(cluster.socket(shard), name);
      }
      seen.shards[shard].address.socket = name;
    }
    datastore = Datastore::open(seen, options(std::chrono::seconds(20)));
  }

  // Fails if the work takes as long as a timeout of the silent server, which is 5 s.
  template <typename Work>
  static void check_does_not_wait(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(4500));
  }

  cli::Descriptor silent;
};

}  // namespace

TEST_CASE_FIXTURE(Replaced, "an index that another process dropped and created anew is queried by its new definition") {
  replace(by_user_and_age);
  backfill();
  CHECK(query("index_user", of_user) == std::vector<std::string>{id});
}

TEST_CASE_FIXTURE(Replaced, "a condition that only the new definition can answer is answered") {
  replace(by_user_and_age);
  backfill();
  CHECK(query("index_user", {of_user[0], "age=7"}) == std::vector<std::string>{id});
}

TEST_CASE_FIXTURE(Replaced, "a condition that the new definition cannot answer is refused by it") {
  replace(by_age);
  backfill();
  CHECK(refusal(of_user) == "index has no such property");
}

TEST_CASE_FIXTURE(Replaced, "an index that another process dropped is not there") {
  other.drop_index("index_user");
  CHECK(refusal(of_user) == "no such index");
}

TEST_CASE_FIXTURE(Replaced, "an index that another process is filling anew is refused until it is ready") {
  replace(by_user);
  CHECK(refusal(of_user) == "index is still building");
  backfill();
  CHECK(query("index_user", of_user) == std::vector<std::string>{id});
}

TEST_CASE_FIXTURE(Replaced, "explain names the indexes that there are now") {
  replace(by_user_and_age);
  const std::vector<IndexedEntity> explained = datastore.explain(entity);
  REQUIRE(explained.size() == 1);
  CHECK(explained.front().definition.properties.size() == 2);
}

TEST_CASE_FIXTURE(Replaced, "a store that knows the index asks no shard but those that hold its rows and entities") {
  CHECK(selects_of_query(0) == 0);
  CHECK(selects_of_query(1) == 2);  // its rows, together with its state, and the entities
}

TEST_CASE_FIXTURE(
    StoreFixture,
    "an index in whose order a query goes across many values can be dropped and created again beside it") {
  constexpr const char* by_three =
      R"({"table": "index_user", "properties": [{"name": "user", "type": "uuid"}, {"name": "age", "type": "int"},
                                                {"name": "name", "type": "string"}]})";
  create_index(by_three);
  REQUIRE(put_one(datastore, fmt::format(R"({{"id": "{}", "user": "{}", "age": 7, "name": "a"}})", id, user)) ==
          WriteStatus::stored);
  Query query;
  query.index = "index_user";
  query.order_by = "age";
  query.limit = 100;
  for (std::uint64_t number = 0x20; number < 0x30; ++number) {
    query.conditions.push_back({"user", Operator::equal, fmt::format("{:032x}", number)});
  }
  REQUIRE(page(query).ids == std::vector<std::string>{id});
  Datastore other = open();
  other.drop_index("index_user");
  CHECK(std::string(error_of([&] { return page(query); }).what()) == "no such index");
  create_index(by_three);
  backfill();
  REQUIRE(page(query).ids == std::vector<std::string>{id});
  other.drop_index("index_user");
  other.create_indexes({IndexDefinition::parse(by_user_and_age, "test")});
  backfill();
  CHECK(page(query).ids == std::vector<std::string>{id});
}

TEST_CASE_FIXTURE(StoreFixture, "a query that may be incomplete waits for no table longer than for a dead server") {
  create_index(by_age);
  REQUIRE(put_one(datastore, entity) == WriteStatus::stored);
  Options options;
  options.connect_timeout = std::chrono::seconds(3);  // and twice as long for the table
  options.timeout = std::chrono::seconds(20);
  const Datastore store = Datastore::open(Cluster::load(cluster.file()), options);
  Query query;
  query.index = "index_user";
  query.partial = true;
  const SleepingSession holder(cluster, cluster.server_of(1),
                               fmt::format("LOCK TABLES {}.index_user WRITE", cluster.database(1)));
  const auto begin = std::chrono::steady_clock::now();
  const QueryReport report = store.query(query, [](const Entity&) { return true; });
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(14));
  REQUIRE(report.unavailable.size() == 1);
  CHECK(report.unavailable.front().first == 1);
}

TEST_CASE_FIXTURE(ManyServers, "the first query of a process does not wait for a server that it does not need") {
  check_does_not_wait([&] { CHECK(query("index_user", of_user) == std::vector<std::string>{id}); });
}

TEST_CASE_FIXTURE(ManyServers, "the first put of a process does not wait for a server that it does not need") {
  check_does_not_wait([&] { CHECK(put_one(datastore, entity) == WriteStatus::stored); });
}

TEST_CASE_FIXTURE(Replaced,
                  "a query that only needs a catalog does not wait for a server whose connections are in use") {
  Options options;
  options.max_connections = min_connections;
  options.timeout = std::chrono::seconds(20);
  const Datastore store = Datastore::open(Cluster::load(cluster.file()), options);
  const auto find = [&](const std::string& index, const char* of) {
    Query query;
    query.index = index;
    query.conditions.push_back({"user", Operator::equal, of});
    std::size_t found = 0;
    store.query(query, [&](const Entity&) { return ++found > 0; });
    return found;
  };
  constexpr const char* user_of_shard_0 = "00000000000000000000000000000020";
  CHECK(find("index_user", user_of_shard_0) == 0);
  other.create_indexes({IndexDefinition::parse(
      R"({"table": "index_new", "properties": [{"name": "user", "type": "uuid"}], "shard_on": "user"})", "test")});
  backfill();
  const std::jthread holder([&] { cluster.sql(0, "LOCK TABLES index_user WRITE; DO SLEEP(5); UNLOCK TABLES"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  // Each waits for the table for two seconds, and then gives way to the next one.
  std::vector<std::jthread> users_of_the_connection;
  for (int i = 0; i < 3; ++i) {
    users_of_the_connection.emplace_back([&] { find("index_user", user_of_shard_0); });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(find("index_new", user) == 1);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
}

TEST_CASE_FIXTURE(Replaced, "a process with a timeout of a second keeps its sessions") {
  const Datastore store = open(std::chrono::seconds(1));
  const auto get = [&] {
    const auto found = store.get({Uuid::parse(id).value()});
    CHECK(found.size() == 1);
  };
  bool kept = false;
  for (int round = 0; !kept && round < 5; ++round) {  // a server that stands still for a second costs a session
    try {
      get();
      const std::uint64_t before = cluster.status(1, "Connections"), asking = cluster.status(1, "Connections") - before;
      for (int time = 0; time < 5; ++time) {
        get();
      }
      kept = cluster.status(1, "Connections") - before == 2 * asking;
    } catch (const Error&) {
    }
  }
  CHECK(kept);
}

TEST_CASE_FIXTURE(Replaced, "an index that is not ready on a shard with rows is refused, and one without rows too") {
  for (const char* state : {"building", "dropping", "dropped"}) {
    cluster.sql(1, fmt::format("UPDATE looseleaf_index SET state = '{}'", state));
    CAPTURE(state);
    CHECK(refusal(of_user).starts_with("index is "));
    CHECK(refusal({"user=00000000000000000000000000000023"}).starts_with("index is "));
  }
  cluster.sql(1, "UPDATE looseleaf_index SET state = 'ready'");
  CHECK(query("index_user", of_user) == std::vector<std::string>{id});
}

TEST_CASE_FIXTURE(Replaced, "a server that was demoted is not believed, whether it finds something or not") {
  constexpr const char* of_shard_1 = "00000000000000000000000000000025";
  REQUIRE(put_one(datastore, fmt::format(R"({{"id": "00000000000000000000000000000010", "user": "{}"}})",
                                         of_shard_1)) == WriteStatus::stored);  // the entity is on shard 0
  for (const char* wanted : {of_shard_1, "00000000000000000000000000000023"}) {
    CAPTURE(std::string(wanted));
    CHECK_FALSE(is_answered_after_demotion([&](const Datastore& store) {
      Query query;
      query.index = "index_user";
      query.conditions = {{"user", Operator::equal, wanted}};
      store.query(query, [](const Entity&) { return true; });
    }));
  }
  for (const char* wanted : {id, "00000000000000000000000000000013"}) {
    CAPTURE(std::string(wanted));
    CHECK_FALSE(is_answered_after_demotion(
        [&](const Datastore& store) { static_cast<void>(store.get({Uuid::parse(wanted).value()})); }));
  }
}

namespace {

struct Planned : StoreFixture {
  // Two of the properties have names that columns of the catalog have.
  explicit Planned(const std::string& rest = {}) : StoreFixture(1) {
    create_index(
        R"({"table": "by_state", "properties": [
        {"name": "state", "type": "string"}, {"name": "generation", "type": "int"}, {"name": "x", "type": "double"}])" +
        rest + "}");
    std::vector<std::string> entities;
    for (int i = 0; i < 600; ++i) {
      entities.push_back(fmt::format(R"({{"state": "s{}", "generation": {}, "x": {}}})", i % 3, i % 20, i));
    }
    datastore.put(entities);
    cluster.sql(0, "ANALYZE TABLE by_state");
  }

  // Its statements are read in the order of the index: no row beyond the limit, nothing sorted, no temporary table.
  void check_plan(const std::vector<std::string>& conditions, bool descending) {
    CAPTURE(conditions);
    CAPTURE(descending);
    Query query;
    query.index = "by_state";
    query.limit = limit;
    query.descending = descending;
    for (const std::string& condition : conditions) {
      query.conditions.push_back(Condition::parse(condition));
    }
    for (int page = 0; page < 3; ++page) {
      const QueryReport report = datastore.query(query, [](const Entity&) { return true; });
      CHECK(report.entities == limit);
      check_statement(report.shards.at(0).sql);
      query.after = report.next;
    }
  }

 private:
  static constexpr std::uint64_t limit = 7;

  void check_statement(const std::string& sql) {
    CAPTURE(sql);
    std::istringstream lines(
        cluster.sql(0, "FLUSH STATUS; " + sql +
                           "; SHOW SESSION STATUS WHERE variable_name LIKE 'Handler_read%' OR variable_name IN "
                           "('Created_tmp_tables', 'Sort_rows')"));
    std::uint64_t read = 0, extra = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::uint64_t value = std::stoull("0" + line.substr(line.rfind('\t') + 1));
      read += line.starts_with("Handler_read") ? value : 0;
      extra += line.starts_with("Created") || line.starts_with("Sort") ? value : 0;
    }
    CHECK(extra == 0);
    CHECK(read > limit);
    CHECK(read <= limit + 5);  // one more row, the catalog's, and the starts of ranges
  }
};

}  // namespace

TEST_CASE("index rows are read in their order up to the limit, whatever columns the catalog has") {
  for (const char* rest : {"", R"(, "shard_on": "state", "unique": true)"}) {
    CAPTURE(rest);
    Planned fixture(rest);
    for (const bool descending : {false, true}) {
      fixture.check_plan({}, descending);
      fixture.check_plan({"state=s1"}, descending);
      fixture.check_plan({"state=s1", "state=s2"}, descending);
      fixture.check_plan({"state=s1", "generation>3"}, descending);
      fixture.check_plan({"state=s1", "generation>=3", "generation<12"}, descending);
      fixture.check_plan({"state^=s"}, descending);
      fixture.check_plan({"state=s0", "generation=1", "generation=4", "generation=7", "x>=0"}, descending);
    }
  }
}

TEST_CASE_FIXTURE(StoreFixture,
                  "a query for tens of thousands of values looks them up, and does not read the whole index") {
  create_index(by_age);
  const std::string digits =
      "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION "
      "SELECT 7 UNION SELECT 8 UNION SELECT 9)";
  cluster.sql(0,
              fmt::format("INSERT INTO index_user SELECT n, UNHEX(LPAD(HEX(n), 32, '0')) FROM (SELECT a.d + 10 * b.d + "
                          "100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d n FROM {0} a JOIN {0} b JOIN {0} c "
                          "JOIN {0} d JOIN {0} e JOIN {0} f WHERE f.d < 8) t; "
                          "ANALYZE TABLE index_user",
                          digits));
  Query query;
  query.index = "index_user";
  for (int value = 0; value < 40'000; ++value) {
    query.conditions.push_back({"age", Operator::equal, std::to_string(1'000'000 + value)});
  }
  const std::uint64_t before = cluster.status(0, "Handler_read_next");
  CHECK(page(query).ids.empty());
  CHECK(cluster.status(0, "Handler_read_next") - before < 100'000);
}

// Up to 99 rows of one value come from the server in no order, and more in order.
TEST_CASE("entities with one value come in the order of their ids, however many they are, and by pages too") {
  StoreFixture store(2);
  store.create_index(by_n);
  for (const int number : {3, 98, 99, 100, 101, 250}) {
    CAPTURE(number);
    std::vector<std::string> entities, ids;
    for (int i = 0; i < number; ++i) {
      ids.push_back(fmt::format("{:04x}{:028x}", (i * 7919) % 65536, number));
      entities.push_back(fmt::format(R"({{"id": "{}", "n": {}}})", ids.back(), number));
    }
    store.datastore.put(entities);
    std::sort(ids.begin(), ids.end());
    CHECK(store.query("by_n", {fmt::format("n={}", number)}) == ids);
    Query query;
    query.index = "by_n";
    query.conditions.push_back(Condition::parse(fmt::format("n={}", number)));
    query.limit = 99;  // reads 100 rows
    std::vector<std::string> found;
    do {
      const StoreFixture::Page page = store.page(query);
      found.insert(found.end(), page.ids.begin(), page.ids.end());
      query.after = page.next;
    } while (!query.after.empty());
    CHECK(found == ids);
    query.descending = true;
    query.limit = 0;
    found = store.page(query).ids;
    std::reverse(found.begin(), found.end());
    CHECK(found == ids);
  }
}

}  // namespace looseleaf::test

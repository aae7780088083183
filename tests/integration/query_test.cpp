// Queries by a store that has seen the catalog before: what other processes changed meanwhile counts.
#include <doctest/doctest.h>

#include "tests/integration/store_fixture.hpp"

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

  std::string refusal(const std::vector<std::string>& conditions) {
    try {
      static_cast<void>(query("index_user", conditions));
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  }

  Datastore other;
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

TEST_CASE_FIXTURE(Replaced, "a store that knows the index asks no shard but those that hold its rows and entities") {
  const auto selects = [&] {
    const std::string line = cluster.server_sql(0, "SHOW GLOBAL STATUS LIKE 'Com_select'");
    return std::stoull(line.substr(line.find('\t')));
  };
  const std::uint64_t before = selects(), asking = selects() - before;  // MySQL counts that as well
  CHECK(query("index_user", of_user) == std::vector<std::string>{id});
  CHECK(selects() == before + 2 * asking);
}

}  // namespace looseleaf::test

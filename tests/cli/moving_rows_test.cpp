// Queries of entities whose rows move while they run. Each test is also run without the safeguard, which must fail
// then.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr int entity_count = 300;  // a query reads 100 rows, then 200

// A store of entities 0 to 299 whose property n is their number.
TestCluster numbered() {
  TestCluster cluster = initialised(1);
  create_index(cluster, by_n);
  put_all(cluster, entity_lines(entity_count, "\"n\":{}"));
  return cluster;
}

std::vector<std::string> ids_but(std::uint64_t left_out) {
  std::vector<std::string> ids;
  for (std::uint64_t number = 0; number < entity_count; ++number) {
    if (number != left_out) {
      ids.push_back(id_of(number));
    }
  }
  return ids;
}

// Runs a query, stops it at the place, changes the value of an entity meanwhile, and returns the ids that it prints.
std::vector<std::string> ids_beside_change(const TestCluster& cluster, const std::string& failpoints,
                                           std::uint64_t number, const auto& n) {
  cli::Process query = cluster.stop_at(failpoints, {"query", "by_n", "--ids"});
  put_all(cluster, entity(number, fmt::format("\"n\":{}", n)));
  const cli::ProcessResult result = resume(query);
  CHECK_MESSAGE(result.status == 0, result.err);
  return lines_of(result.out);
}

TEST_CASE("an entity whose row moves from where a query has not read yet to where it has is given" * needs_failpoints) {
  const TestCluster cluster = numbered();
  std::vector<std::string> expected = ids_but(250);
  expected.push_back(id_of(250));
  CHECK(ids_beside_change(cluster, "query.read_index_rows:before#2", 250, -1) == expected);
  put_all(cluster, entity(250, "\"n\":250"));
  CHECK(ids_beside_change(cluster, "query.look_again=skip,query.read_index_rows:before#2", 250, -1) == ids_but(250));
}

TEST_CASE("an entity that was given is not given again where its row has moved" * needs_failpoints) {
  const TestCluster cluster = numbered();
  CHECK(ids_beside_change(cluster, "query.read_index_rows:before#2", 10, 400) == lines_of(id_lines(entity_count)));
}

TEST_CASE("an entity whose row moves before the entity is read is given where the row is, or at once" *
          needs_failpoints) {
  const TestCluster cluster = numbered();
  const std::vector<std::string> in_order = lines_of(id_lines(entity_count));
  std::vector<std::string> expected = ids_but(10);
  expected.insert(expected.begin() + 19, id_of(10));  // before 20, which has the same value
  CHECK(ids_beside_change(cluster, "query.read_entities:before#1", 10, 20) == expected);  // ahead, already read
  put_all(cluster, entity(10, "\"n\":10"));
  expected = ids_but(20);
  expected.insert(expected.begin() + 220, id_of(20));
  CHECK(ids_beside_change(cluster, "query.read_entities:before#1", 20, 221) == expected);  // ahead, to be read
  put_all(cluster, entity(20, "\"n\":20"));
  CHECK(ids_beside_change(cluster, "query.read_entities:before#1", 50, -1) == in_order);  // behind
}

// Entity 10 waits for its new place. The next row behind this place that the query has read is an old one of the
// entity, so the entity was given for both.
TEST_CASE("an entity that waits for its new place is not given once more at its next row" * needs_failpoints) {
  const auto ids_with_10_before = [](std::uint64_t row, std::uint64_t end) {  // and without the entity before that row
    std::vector<std::string> ids;
    for (std::uint64_t number = 0; number < end; ++number) {
      if (number != 10 && number != row - 1) {
        ids.push_back(id_of(number == row ? 10 : number));
      }
      if (number == row) {
        ids.push_back(id_of(row));
      }
    }
    return ids;
  };
  SUBCASE("a row that a dead put has left, in the second batch of those that were read at once") {
    const TestCluster cluster = initialised(2);
    create_index(cluster, by_n);
    put_all(cluster, entity_lines(150, "\"n\":{}"));
    cluster.die_at("put.commit:before", {"put"}, entity(10, "\"n\":110"));
    REQUIRE(cluster.looseleaf({"delete", id_of(109)}).status == 0);
    CHECK(ids_beside_change(cluster, "query.read_entities:before#1", 10, 109) == ids_with_10_before(110, 150));
  }
  SUBCASE("another row of an entity that has several") {
    const TestCluster cluster = initialised(1);
    create_index(cluster, R"({"table": "by_n", "properties": [{"name": "n", "type": "int", "each": true}]})");
    put_all(cluster, entity_lines(100, "\"n\":[{}]"));
    put_all(cluster, entity(10, "\"n\":[10,70]"));
    REQUIRE(cluster.looseleaf({"delete", id_of(69)}).status == 0);
    CHECK(ids_beside_change(cluster, "query.read_entities:before#1", 10, "[69,70]") == ids_with_10_before(70, 100));
  }
}

TEST_CASE("an entity that moves to a page's part that was read is on the page, and the last entity on the next" *
          needs_failpoints) {
  const TestCluster cluster = numbered();
  std::vector<std::string> expected;
  for (std::uint64_t number = 0; number < entity_count; number += 2) {
    if (number != 250) {
      expected.push_back(id_of(number));
    }
  }
  put_all(cluster, entity_lines(entity_count, [](std::uint64_t number) {
            return fmt::format("\"n\":{},\"even\":{}", number, number % 2 == 0);
          }));
  expected.insert(expected.begin() + 99, id_of(250));  // before the 100th place
  const std::vector<std::string> arguments = {"query", "by_n", "--ids", "--where", "even=true", "--limit", "100"};
  cli::Process query = cluster.stop_at("query.read_index_rows:before#2", arguments);
  put_all(cluster, entity(250, "\"n\":-1,\"even\":true"));
  const cli::ProcessResult page = resume(query);
  const std::vector<std::string> given = lines_of(page.out);
  CHECK(given.size() == 100);
  CHECK(joined(given, lines_of(cluster.looseleaf(joined(arguments, {"--after", next_of(page)})).out)) == expected);
}

TEST_CASE("an entity that moves behind the end of a full page, to where the page was read, begins the next page" *
          needs_failpoints) {
  const TestCluster cluster = numbered();
  put_all(cluster, entity(0, R"("n":0,"even":true)") + entity(250, R"("n":250,"even":true)"));
  const std::vector<std::string> arguments = {"query", "by_n", "--ids", "--where", "even=true", "--limit", "1"};
  cli::Process query = cluster.stop_at("query.read_index_rows:before#3", arguments);
  put_all(cluster, entity(250, R"("n":3,"even":true)"));
  const cli::ProcessResult page = resume(query);
  check_run(page, 0, id_of(0) + "\n", {"next: "});
  check_run(cluster.looseleaf(joined(arguments, {"--after", next_of(page)})), 0, id_of(250) + "\n");
}

// An index whose rows are on the shards of their values, and on two servers.
struct TwoServers {
  TwoServers() {
    create_index(cluster, by_n_sharded);
    put_all(cluster, entity_lines(entity_count, "\"n\":{}"));
    for (const std::uint32_t shard : {0U, 1U}) {
      n_on.push_back(std::stoi(lines_of(cluster.sql(shard, "SELECT n FROM by_n WHERE n < 100")).front()));
    }
  }

  void set(std::uint64_t number, int n) const { put_all(cluster, entity(number, fmt::format("\"n\":{}", n))); }

  // Changes the entity from shard 1 to shard 0 when shard 0 has been read, and shard 1 has not. If `back`, changes it
  // back when shard 1 has been looked at again, and shard 0 has not. Returns how often the query gives it.
  [[nodiscard]] std::size_t times_given(bool back, const std::string& failpoints) const {
    for (int delay = 700; delay < 60'000; delay *= 2) {
      if (const auto given = times_given(back, failpoints, delay)) {
        return *given;
      }
    }
    FAIL("the query could not be stopped between two steps");
    return 0;
  }

  // The same where the shard that is not to be read yet is held up for so many milliseconds; nothing if that was too
  // short, because the machine is busy.
  [[nodiscard]] std::optional<std::size_t> times_given(bool back, const std::string& failpoints, int delay) const {
    const auto number = static_cast<std::uint64_t>(n_on[1]);
    set(number, n_on[1]);
    TracedProcess query(cluster, {"query", "by_n", "n<100", "--ids"},
                        fmt::format("{}query.read_index_rows:before@1=sleep:{}{}", failpoints, delay,
                                    back ? fmt::format(",query.look_again:before@0=sleep:{}", delay) : ""));
    if (!change_between(query, "query.read_index_rows", 0, number, n_on[0]) ||
        (back && !change_between(query, "query.look_again", 1, number, n_on[1]))) {
      return std::nullopt;
    }
    const cli::ProcessResult result = query->wait();
    CHECK_MESSAGE(result.status == 0, result.err);
    CHECK(times("\n", result.out) >= 99);
    return times(id_of(number), result.out);
  }

  // Changes the entity when the query has done the step on one shard, and not on the other; false if that was missed.
  [[nodiscard]] bool change_between(TracedProcess& query, const std::string& step, std::uint32_t shard,
                                    std::uint64_t number, int n) const {
    query.wait_for(fmt::format("{}:after@{}", step, shard));
    query->signal(SIGSTOP);
    if (!wait_until_stopped(*query)) {
      return false;  // it has ended: the delay was too short
    }
    const bool in_time = !query.has_passed(fmt::format("{}:after@{}", step, 1 - shard));
    if (in_time) {
      set(number, n);
    }
    query->signal(SIGCONT);
    return in_time;
  }

  TestCluster cluster = initialised(2);
  std::vector<int> n_on;  // a value on each shard
};

TEST_CASE_FIXTURE(TwoServers,
                  "an entity whose row moves between shards while they are read is given" * needs_failpoints) {
  CHECK(times_given(false, "") == 1);
  CHECK(times_given(false, "query.look_again=skip,query.find_changed=skip,") == 0);
  CHECK(times_given(true, "") == 1);
  CHECK(times_given(true, "query.find_changed=skip,") == 0);
}

TEST_CASE("a query warns if there are more rows than it can look at again") {
  const TestCluster cluster = numbered();
  const auto warning = [&] { return cluster.looseleaf({"query", "by_n", "--count"}).err; };
  CHECK(warning().empty());
  // All of them are outdated rows of one entity, so that the query remembers few ids.
  cluster.sql(0, fmt::format("CREATE TABLE some AS SELECT n FROM by_n; INSERT INTO by_n "
                             "SELECT 1000 + a.n + 1000 * b.n + 1000000 * c.n, UNHEX('{}') FROM some a, some b, some c "
                             "WHERE c.n < 2 LIMIT 160000",
                             id_of(0)));
  CHECK(holds_in_order(warning(), {"warning: the query could not look again at everything that may have moved while it",
                                   "  index: by_n\n", "  limit: 160000 index rows in one statement\n",
                                   "hint: an entity whose row moved meanwhile may be missing or come twice; "}));
}

TEST_CASE("a query warns if more entities changed than it can look at again") {
  const TestCluster cluster = initialised(2);
  create_index(cluster, by_n_sharded);
  put_all(cluster, entity_lines(400, "\"n\":{}"));
  const auto warning = [&] { return cluster.looseleaf({"query", "by_n", "--count"}).err; };
  CHECK(warning().empty());
  cluster.sql(
      1,
      "CREATE TABLE some AS SELECT id FROM entities; INSERT INTO some SELECT UNHEX(LEFT(SHA2(id, 256), 32)) FROM some; "
      "INSERT INTO entities (id, updated, body) SELECT UNHEX(LEFT(SHA2(CONCAT(a.id, b.id), 256), 32)), "
      "NOW(6) + INTERVAL 1 HOUR, 'x' FROM some a, some b LIMIT 131073");
  CHECK(holds_in_order(warning(), {"warning: the query could not look again at everything", "  index: by_n\n",
                                   "  limit: 131072 changed entities in one statement\n"}));
}

}  // namespace
}  // namespace looseleaf::test

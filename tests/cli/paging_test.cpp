// looseleaf query by pages, with filters, and explained.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

struct Page {
  std::vector<std::string> ids;
  std::string next;  // empty at the end
};

Page read_page(const TestCluster& cluster, const std::vector<std::string>& arguments, const std::string& after) {
  const std::vector<std::string> query = joined({"query", "--ids"}, arguments);
  const cli::ProcessResult result = cluster.looseleaf(after.empty() ? query : joined(query, {"--after", after}));
  REQUIRE_MESSAGE(result.status == 0, result.err);
  const std::string next = next_of(result);
  REQUIRE(result.err == (next.empty() ? "" : "next: " + next + "\n"));
  return {lines_of(result.out), next};
}

// All pages of so many entities, one after the other; every page but the last is full.
std::vector<std::string> read_pages(const TestCluster& cluster, const std::vector<std::string>& arguments,
                                    std::size_t limit) {
  std::vector<std::string> ids;
  std::string after;
  do {
    const Page page = read_page(cluster, joined(arguments, {"--limit", std::to_string(limit)}), after);
    CHECK((page.ids.size() == limit || page.next.empty()));
    ids.insert(ids.end(), page.ids.begin(), page.ids.end());
    after = page.next;
  } while (!after.empty());
  return ids;
}

constexpr const char* by_s =
    R"({"table": "by_s", "properties": [{"name": "s", "type": "string", "max_length": 3}, {"name": "n", "type": "int"}]})";
constexpr const char* by_tag =
    R"({"table": "by_tag", "properties": [{"name": "tags", "type": "string", "each": true}]})";
constexpr const char* by_d =
    R"({"table": "by_d", "properties": [{"name": "d", "type": "double"}, {"name": "u", "type": "uuid"}]})";

// 40 entities over three shards that share values in many ways.
TestCluster with_entities() {
  TestCluster cluster = initialised(3);
  for (const char* definition : {by_s, by_n_sharded, by_tag, by_d}) {
    create_index(cluster, definition);
  }
  put_all(cluster, entity_lines(40, [](std::uint64_t i) {
            return fmt::format(R"("n":{},"s":"{}","tags":["t{}","t{}","t{}"],"d":{},"u":"{}","even":{})", i % 7,
                               i % 3 == 0 ? "abcd" : "abce", i % 4, i % 5, i % 2, 0.5 * static_cast<double>(i % 6),
                               id_of(i % 3), i % 2 == 0);
          }));
  return cluster;
}

TEST_CASE("pages of any size add up to the whole answer, whatever the index and the conditions") {
  const TestCluster cluster = with_entities();
  const std::vector<std::vector<std::string>> questions = {
      {"by_s"},
      {"by_s", "--desc"},
      {"by_s", "s=abcd"},
      {"by_s", "s^=ab", "--desc"},
      {"by_n", "n=3"},
      {"by_n", "n=3", "n=5", "--desc"},
      {"by_n", "n>1", "n<=5"},
      {"by_tag"},
      {"by_tag", "--desc"},
      {"by_tag", "tags=t1", "tags=t3"},
      {"by_tag", "tags>t0", "tags<t4", "--desc"},
      {"by_d", "d>0.5"},
      {"by_d", "d=1", "--where", "even=true"},
      {"by_n", "--where", "even=false"},
  };
  for (const auto& question : questions) {
    INFO(fmt::format("{}", fmt::join(question, " ")));
    const std::vector<std::string> whole = read_page(cluster, question, "").ids;
    auto distinct = whole;
    std::sort(distinct.begin(), distinct.end());
    CHECK(std::unique(distinct.begin(), distinct.end()) == distinct.end());
    for (const std::size_t limit : {1U, 3U, 40U}) {
      CAPTURE(limit);
      CHECK(read_pages(cluster, question, limit) == whole);
    }
  }
}

TEST_CASE("what did not change appears exactly once, although entities come, go and move between the pages") {
  const TestCluster cluster = with_entities();
  for (const std::vector<std::string>& direction : {std::vector<std::string>{"--desc"}, {}}) {
    CAPTURE(direction.size());
    std::vector<std::string> seen;
    const std::vector<std::string> arguments =
        joined({"query", "by_tag", "tags>=t0", "--ids", "--limit", "4", "--output", "json"}, direction);
    std::uint64_t moved = 0;
    for (std::string after; after != "end";) {
      const auto now = after.empty() ? arguments : joined(arguments, {"--after", after});
      const std::vector<std::string> lines = lines_of(cluster.looseleaf(now).out);
      for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        seen.push_back(nlohmann::json::parse(lines[i])["id"]);
      }
      const auto next = nlohmann::json::parse(lines.back())["next"];
      after = next.is_null() ? "end" : next.get<std::string>();
      // Entities 36 to 39 change all the time; 41 and up come; some of those go again.
      put_all(cluster, entity(36 + moved % 4, fmt::format(R"("tags":["t{}"])", moved % 5)) +
                           entity(41 + moved, R"("tags":["t1","t3"])"));
      if (moved % 2 == 1) {
        REQUIRE(cluster.looseleaf({"delete", "--quiet", id_of(41 + moved)}).status == 0);
      }
      ++moved;
      REQUIRE(moved < 100);
    }
    for (std::uint64_t i = 0; i < 36; ++i) {
      CHECK_MESSAGE(std::count(seen.begin(), seen.end(), id_of(i)) == 1, i);
    }
  }
}

TEST_CASE("a token is good for its own query only, and nothing else passes for one") {
  const TestCluster cluster = with_entities();
  const std::string token = read_page(cluster, {"by_n", "n>1", "--limit", "2"}, "").next;
  const auto ask = [&](const std::vector<std::string>& arguments, const std::string& after) {
    return cluster.looseleaf(joined(joined({"query"}, arguments), {"--after", after}));
  };
  CHECK(ask({"by_n", "n>1", "--limit", "5", "--ids"}, token).status == 0);
  const std::vector<std::vector<std::string>> others = {
      {"by_n", "n>2"}, {"by_n"}, {"by_n", "n>1", "--desc"}, {"by_n", "n>1", "--where", "even=true"}, {"by_s"}};
  for (const auto& other : others) {
    INFO(fmt::format("{}", fmt::join(other, " ")));
    check_run(ask(other, token), 2, "", {"error: the page token belongs to another query", "hint: use the `next`"});
  }
  check_run(ask({"by_n", "n>1"}, ""), 2, "", {"error: an empty page token\n", "hint: leave --after out"});
  std::string damaged = token;
  damaged[5] = damaged[5] == 'A' ? 'B' : 'A';
  for (const std::string& wrong :
       {damaged, token.substr(1), token + "A", std::string("' OR 1=1 -- "), std::string("%00"),
        std::string(10'000, 'A'), std::string("AAAA"), "--" + token.substr(2)}) {
    check_run(ask({"by_n", "n>1"}, wrong), 2, "", {"error: invalid page token\n", "hint: use the `next`"});
  }
}

TEST_CASE("a filter asks the entity itself, and knows the type of its value") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_n_sharded);
  put_all(cluster, entity(1, R"("n":1,"v":1)") + entity(2, R"("n":1,"v":"1")") + entity(3, R"("n":1,"v":null)") +
                       entity(4, R"("n":1)") + entity(5, R"("n":1,"v":{"w":"x y"})") + entity(6, R"("n":1,"v":true)"));
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::uint64_t>>> cases = {
      {{"v=1"}, {1}},        {{"v=\"1\""}, {2}},          {{"v=null"}, {3}}, {{"v.w=x y"}, {5}},
      {{"v=true"}, {6}},     {{"v=1", "v=true"}, {1, 6}}, {{"v=1.0"}, {1}},  {{"v="}, {}},
      {{"v=1", "n=1"}, {1}}, {{"v=1", "n=2"}, {}},
  };
  for (const auto& [conditions, expected] : cases) {
    INFO(fmt::format("{}", fmt::join(conditions, " ")));
    std::vector<std::string> arguments = {"query", "by_n", "n=1", "--ids"};
    for (const std::string& condition : conditions) {
      arguments.insert(arguments.end(), {"--where", condition});
    }
    check_run(cluster.looseleaf(arguments), 0, lines_of_ids(expected));
  }
}

TEST_CASE("a filter and a definition's `where` tell whole numbers of any size apart, and know equal numbers") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_n_sharded);
  create_index(cluster, R"({"table": "of_big", "properties": [{"name": "n", "type": "int"}],
                            "where": {"v": 18446744073709551616}})");
  put_all(cluster, entity(1, R"("n":1,"v":18446744073709551616)") + entity(2, R"("n":1,"v":18446744073709551617)") +
                       entity(3, R"("n":1,"v":9223372036854775808)") + entity(4, R"("n":1,"v":1e20)") +
                       entity(5, R"("n":1,"v":100000000000000000000)"));
  const std::string four_and_five = id_of(4) + "\n" + id_of(5) + "\n";
  const auto find = [&](const std::string& condition) {
    return cluster.looseleaf({"query", "by_n", "n=1", "--ids", "--where", condition});
  };
  check_run(find("v=18446744073709551616"), 0, id_of(1) + "\n");
  check_run(find("v=18446744073709551617"), 0, id_of(2) + "\n");
  check_run(find("v=9223372036854775808"), 0, id_of(3) + "\n");
  check_run(find("v=1e20"), 0, four_and_five);
  check_run(find("v=100000000000000000000"), 0, four_and_five);
  check_run(cluster.looseleaf({"query", "of_big", "--ids"}), 0, id_of(1) + "\n");
  check_status(cluster.looseleaf({"verify"}), 0, {"consistent\n"});
}

TEST_CASE("--limit counts after filtering, so that no page is short") {
  const TestCluster cluster = with_entities();
  const Page page = read_page(cluster, {"by_s", "--where", "even=true", "--limit", "15"}, "");
  CHECK(page.ids.size() == 15);
  CHECK_FALSE(page.next.empty());
}

TEST_CASE("--explain says which shards are asked, by what SQL, and what came of it") {
  const TestCluster cluster = with_entities();
  cluster.sql(0, fmt::format("INSERT INTO by_n VALUES (3, UNHEX('{}'))", id_of(1)));  // outdated
  const std::string generation = cluster.sql(0, "SELECT generation FROM looseleaf_index WHERE table_name = 'by_n'");
  check_run(cluster.looseleaf({"query", "by_n", "n=3", "--where", "even=true", "--explain"}), 0,
            fmt::format("index: by_n\n"
                        "conditions: n=3\n"
                        "filter: even=true\n"
                        "order: of the index\n"
                        "shard 0: 7 index rows, SELECT r.entity_id, IF(c.generation = {0} AND c.state = 'ready' AND "
                        "@@global.read_only = 0, 0, NULL) AS shard "
                        "FROM {1}.by_n r JOIN {1}.looseleaf_index c "
                        "WHERE r.n = 3 AND c.table_name = _utf8mb4 x'62795f6e' "
                        "LIMIT 100\n"
                        "index rows read: 7\n"
                        "entities read: 7\n"
                        "outdated rows: 1\n"
                        "repeated rows: 0\n"
                        "filtered: 3\n"
                        "entities: 3\n",
                        generation.substr(0, generation.find('\n')), cluster.database(0)));
  const cli::ProcessResult any =
      cluster.looseleaf({"query", "by_n", "n=3", "n=6", "n=4", "--explain", "--output", "json"});
  const auto json = nlohmann::json::parse(any.out);
  CHECK(json["shards"].size() == 2);  // 3 and 6 are on shard 0, 4 is on shard 1
  CHECK(json["entities"] == 17);
}

// There, no entity_id is among the columns by which the servers order rows.
TEST_CASE("pages of a unique index continue each other, over all shards and values, in either direction") {
  const TestCluster cluster = initialised();
  create_index(cluster,
               R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}, {"name": "m", "type": "double"}],
                   "shard_on": "n", "unique": true})");
  std::string lines;
  std::vector<std::string> ids;
  for (std::uint64_t number = 0; number < 40; ++number) {
    ids.push_back(id_of(99 - number));
    lines += entity(ids.back(), fmt::format(R"("n":{},"m":{}.5)", number / 4, number % 4)) + "\n";
  }
  put_all(cluster, lines);
  CHECK(read_pages(cluster, {"by_n"}, 7) == ids);
  CHECK(read_pages(cluster, {"by_n", "n=2"}, 3) == std::vector<std::string>(ids.begin() + 8, ids.begin() + 12));
  CHECK(read_pages(cluster, {"by_n", "n>=2", "n<4"}, 3) == std::vector<std::string>(ids.begin() + 8, ids.begin() + 16));
  const std::vector<std::string> two = {"by_n", "n=3", "n=2", "m>=1", "--order-by", "m"};
  const std::vector<std::string> in_order = {ids[13], ids[9], ids[14], ids[10], ids[15], ids[11]};
  CHECK(read_pages(cluster, two, 2) == in_order);
  std::reverse(ids.begin(), ids.end());
  CHECK(read_pages(cluster, {"by_n", "--desc"}, 7) == ids);
}

}  // namespace
}  // namespace looseleaf::test

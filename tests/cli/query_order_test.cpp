// looseleaf query --order-by: one order across several values, and values from files.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* by_user =
    R"({"table": "by_user", "properties": [{"name": "user", "type": "int"}, {"name": "at", "type": "int"}]})";
constexpr const char* by_user_sharded =
    R"({"table": "by_user", "properties": [{"name": "user", "type": "int"}, {"name": "at", "type": "int"}],
        "shard_on": "user"})";

struct Posts {
  explicit Posts(const char* definition, std::uint32_t shards = 3) : cluster(initialised(shards)) {
    create_index(cluster, definition);
  }

  // Entity i is of user i % users, and each is newer than the one before.
  void put(std::uint64_t entities, std::uint64_t users) const {
    put_all(cluster, entity_lines(entities,
                                  [&](std::uint64_t i) { return fmt::format("\"user\":{},\"at\":{}", i % users, i); }));
  }

  [[nodiscard]] cli::ProcessResult query(const std::vector<std::string>& arguments) const {
    return cluster.looseleaf(joined({"query", "by_user"}, arguments));
  }

  [[nodiscard]] std::string file(const std::string& text) const { return cluster.directory().write("values", text); }

  TestCluster cluster;
};

std::string numbers(std::uint64_t end) {
  std::string lines;
  for (std::uint64_t i = 0; i < end; ++i) {
    lines += fmt::format("{}\n", i);
  }
  return lines;
}

TEST_CASE("entities of several values come in one order, in each form of output") {
  for (const char* definition : {by_user, by_user_sharded}) {
    CAPTURE(std::string(definition));
    const Posts posts(definition);
    posts.put(12, 4);
    const std::vector<std::string> two = {"user=1", "user=2", "--order-by", "at"};
    const auto asked = [&](const std::vector<std::string>& more) { return posts.query(joined(two, more)); };
    check_run(asked({"--ids"}), 0, lines_of_ids({1, 2, 5, 6, 9, 10}));
    check_run(asked({"--ids", "--desc", "--limit", "3"}), 0, lines_of_ids({10, 9, 6}), {"next: "});
    check_run(asked({"--ids", "at>2", "at<9"}), 0, lines_of_ids({5, 6}));
    check_run(asked({"--ids", "--where", "at!=5", "--limit", "3"}), 0, lines_of_ids({1, 2, 6}), {"next: "});
    check_run(asked({"--count"}), 0, "6\n");
    check_run(asked({"--fields", "user,at", "--output", "csv", "--desc", "--limit", "2"}), 0, "user,at\n2,10\n1,9\n",
              {"next: "});
    check_run(asked({"--ids", "--limit", "2", "--output", "json"}), 0,
              fmt::format("{{\"id\":\"{}\"}}\n{{\"id\":\"{}\"}}\n", id_of(1), id_of(2)) +
                  R"({"schema_version":1,"entities":2,"next":")" + next_of(asked({"--ids", "--limit", "2"})) +
                  "\",\"unavailable\":[],\"unreadable\":0}\n");
    const cli::ProcessResult explained = asked({"--explain", "--desc"});
    CHECK(holds_in_order(explained.out, {"conditions: user=1, user=2\n", "order: by at, descending\n",
                                         " ORDER BY r.at ", "\nentities: 6\n"}));
    CHECK(contains(asked({"--explain", "--output", "json"}).out, R"("order_by":"at","descending":false)"));
    CHECK(contains(posts.query({"--explain", "--output", "json"}).out, R"("order_by":null)"));
  }
}

TEST_CASE("pages over many values continue each other, in either direction") {
  for (const char* definition : {by_user, by_user_sharded}) {
    CAPTURE(std::string(definition));
    const Posts posts(definition);
    posts.put(3000, 150);
    const std::string users = posts.file(numbers(100));
    for (const bool descending : {false, true}) {
      std::vector<std::uint64_t> expected;
      for (std::uint64_t i = 0; i < 3000; ++i) {
        if (i % 150 < 100) {
          expected.push_back(i);
        }
      }
      std::vector<std::string> arguments = {"user=@" + users, "--order-by", "at", "--ids", "--limit", "333"}, after;
      if (descending) {
        std::reverse(expected.begin(), expected.end());
        arguments.emplace_back("--desc");
      }
      std::string found;
      for (std::string next = "first"; !next.empty();) {
        const cli::ProcessResult page = posts.query(joined(arguments, after));
        found += page.out;
        next = next_of(page);
        after = {"--after", next};
      }
      CHECK(found == lines_of_ids(expected));
    }
  }
}

// Then a window has too few rows if the value is in the sample, and too many if it is not.
TEST_CASE("pages are full if each has the rows of one value") {
  const TestCluster cluster = initialised(1);
  create_index(cluster, by_user);
  put_all(cluster,
          entity_lines(1200, [](std::uint64_t i) { return fmt::format("\"user\":{},\"at\":{}", i / 100, i); }));
  const std::string users = cluster.directory().write("users", numbers(12));
  const std::vector<std::string> arguments = {"query", "by_user", "user=@" + users, "--order-by",
                                              "at",    "--ids",   "--limit",        "50"};
  std::string found;
  std::vector<std::string> after;
  for (int page = 1; page <= 24; ++page) {
    const cli::ProcessResult result = cluster.looseleaf(joined(arguments, after));
    CHECK(times("\n", result.out) == 50);
    found += result.out;
    after = {"--after", next_of(result)};
  }
  CHECK(found == id_lines(1200));
}

TEST_CASE("an entity with several of the values comes once, at its first place in the order") {
  for (const std::string sharded : {"", R"(, "shard_on": "tags")"}) {
    CAPTURE(sharded);
    const TestCluster cluster = initialised(3);
    create_index(cluster, R"({"table": "i", "properties": [{"name": "tags", "type": "string", "each": true},
                                                           {"name": "at", "type": "int"}])" +
                              sharded + "}");
    put_all(cluster, entity(1, R"("tags":["a","b","c"],"at":2)") + entity(2, R"("tags":["b"],"at":1)") +
                         entity(3, R"("tags":["a","c"],"at":2)") + entity(4, R"("tags":["d"],"at":0)"));
    const std::vector<std::string> of_three = {"query", "i", "tags=a", "tags=b", "tags=c", "--order-by", "at", "--ids"};
    check_run(cluster.looseleaf(of_three), 0, lines_of_ids({2, 1, 3}));
    const std::vector<std::string> pages = joined(of_three, {"--limit", "1", "--desc"});
    cli::ProcessResult page = cluster.looseleaf(pages);
    check_run(page, 0, lines_of_ids({3}), {"next: "});
    page = cluster.looseleaf(joined(pages, {"--after", next_of(page)}));
    check_run(page, 0, lines_of_ids({1}), {"next: "});
    // It was given at this place, and is not given again when only its values change.
    put_all(cluster, entity(1, R"("tags":["c"],"at":2)"));
    check_run(cluster.looseleaf(joined(pages, {"--after", next_of(page)})), 0, lines_of_ids({2}));
  }
}

TEST_CASE("outdated rows do not end a page, however many come first") {
  const TestCluster cluster = initialised(1);
  create_index(cluster, by_user);
  put_all(cluster,
          entity(1, R"("user":1,"at":1)") + entity(2, R"("user":2,"at":2)") + entity(3, R"("user":50,"at":3)"));
  std::string rows;
  for (int at = 10; at < 3010; ++at) {
    rows += fmt::format("{}({}, {}, UNHEX('{}'))", at == 10 ? "" : ", ", at % 60, at, id_of(at % 2 == 0 ? 1 : 9));
  }
  cluster.sql(0, "INSERT INTO by_user VALUES " + rows);
  const std::string users = cluster.directory().write("users", numbers(60));
  check_run(
      cluster.looseleaf({"query", "by_user", "user=@" + users, "--order-by", "at", "--desc", "--ids", "--limit", "2"}),
      0, lines_of_ids({3, 2}), {"next: "});
}

// A statement that sorts all matches would read 22,400 rows, and one for each value 3,300.
TEST_CASE("a page reads few rows, however many a value has that is not in the sample") {
  const TestCluster cluster = initialised(1);
  for (const std::string active : {"a", "b", "c"}) {
    create_index(cluster, fmt::format(R"({{"table": "by_{0}", "properties": [{{"name": "{0}", "type": "int"}},
                                      {{"name": "at", "type": "int"}}]}})",
                                      active));
  }
  put_all(cluster, entity_lines(22'400, [](std::uint64_t i) {
            const auto user = [&](std::uint64_t active) { return i < 2400 ? i % 300 : active; };
            return fmt::format(R"("a":{},"b":{},"c":{},"at":{})", user(0), user(150), user(299), i);
          }));
  const std::string users = cluster.directory().write("users", numbers(300));
  for (const std::string active : {"a", "b", "c"}) {
    const cli::ProcessResult newest = cluster.looseleaf(
        {"query", "by_" + active, active + "=@" + users, "--order-by", "at", "--desc", "--limit", "10", "--explain"});
    const std::string before = "\nindex rows read: ";
    REQUIRE_MESSAGE(contains(newest.out, before), newest.err);
    CHECK_MESSAGE(std::stoi(newest.out.substr(newest.out.find(before) + before.size())) < 2000, newest.out);
    CHECK(contains(newest.out, "\nentities: 10\n"));
  }
}

TEST_CASE("a file has a value on each line, written as on the command line") {
  const TestCluster cluster = initialised();
  create_index(cluster,
               R"({"table": "i", "properties": [{"name": "s", "type": "string"}, {"name": "n", "type": "int"}]})");
  put_all(cluster, entity(1, R"("s":"it's \"a\" =<>","n":4)") + entity(2, R"("s":" x ","n":3)") +
                       entity(3, R"("s":"@a","n":2)") + entity(4, R"("s":"é","n":1)") + entity(5, R"("s":"","n":5)"));
  const std::string file = cluster.directory().write("values", "it's \"a\" =<>\n\n x \r\n@a\n@a\nnobody\n\r\né");
  check_run(cluster.looseleaf({"query", "i", "s=@" + file, "--order-by", "n", "--ids"}), 0, lines_of_ids({4, 3, 2, 1}));
  check_run(cluster.looseleaf({"query", "i", "s=@" + file, "s=", "--order-by", "n", "--ids"}), 0,
            lines_of_ids({4, 3, 2, 1, 5}));
  check_run(cluster.looseleaf({"query", "i", "s=@-", "--order-by", "n", "--ids"}, " x \né\n"), 0, lines_of_ids({4, 2}));
  check_run(cluster.looseleaf({"query", "i", "s=@-", "--order-by", "n", "--ids"}, "\xEF\xBB\xBFé\n"), 0,
            lines_of_ids({4}));
  check_run(cluster.looseleaf({"query", "i", R"("s"=@a)", "--order-by", "n", "--ids"}), 0, lines_of_ids({3}));
  check_run(cluster.looseleaf({"query", "i", "s=@a", "--ids"}), 0, lines_of_ids({3}));  // a text
}

TEST_CASE("a file of values that is missing, empty or has a wrong value is named") {
  const Posts posts(by_user);
  check_run(posts.query({"user=@nowhere", "--order-by", "at"}), 3, "",
            {"error: ", "file: nowhere\n", "condition: user=@nowhere\n",
             "hint: ", R"(if the value begins with @, write the property's name in double quotes: '"user"=@nowhere')"});
  const std::string empty = posts.file("\n\r\n");
  check_run(posts.query({"user=@" + empty, "--order-by", "at"}), 2, "",
            {"error: the file has no values\n", "file: " + empty, "hint: write one value on each line"});
  const std::string wrong = posts.file("1\n\n2\nx7\n");
  check_run(posts.query({"user=@" + wrong, "--order-by", "at"}), 2, "",
            {"error: value does not have its property's type\n", "property: user\n", "value: x7\n",
             "file: " + wrong + "\n", "line: 4\n", "hint: write a whole number"});
}

TEST_CASE("10,000 values can be ordered, and no more") {
  for (const char* definition : {by_user, by_user_sharded}) {
    const Posts posts(definition);
    posts.put(20, 10);
    std::string users = numbers(10'000);
    check_run(posts.query({"user=@" + posts.file(users), "--order-by", "at", "--desc", "--limit", "3", "--ids"}), 0,
              lines_of_ids({19, 18, 17}), {"next: "});
    users += "10000\n";
    const std::vector<std::string> refusal = {"error: too many values for one query\n", "index: by_user\n",
                                              "limit: 10000 values, or combinations of values that are ordered\n",
                                              "hint: ask for some of the values at a time"};
    check_run(posts.query({"user=@" + posts.file(users), "--order-by", "at"}), 2, "", refusal);
    check_run(posts.query({"user=@" + posts.file(users), "--order-by", "user"}), 2, "", refusal);
  }
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "a", "type": "int"}, {"name": "b", "type": "int"},
                                                         {"name": "at", "type": "int"}]})");
  put_all(cluster, entity(1, R"("a":1,"b":2,"at":3)") + entity(2, R"("a":99,"b":99,"at":2)"));
  const std::string file = cluster.directory().write("values", numbers(100));
  check_run(cluster.looseleaf({"query", "i", "a=@" + file, "b=@" + file, "--order-by", "at", "--ids"}), 0,
            lines_of_ids({2, 1}));
  check_run(cluster.looseleaf({"query", "i", "a=@" + file, "b=@" + file, "a=100", "--order-by", "at"}), 2, "",
            {"too many values"});
}

// Scripts may do so, and the index has this order anyway.
TEST_CASE("without --order-by, the number of values is not limited") {
  for (const char* definition : {by_user, by_user_sharded}) {
    const Posts posts(definition);
    posts.put(20, 10);
    std::vector<std::string> arguments = {"--count"};
    for (int user = 0; user < 12'000; ++user) {
      arguments.push_back(fmt::format("user={}", user));
    }
    check_run(posts.query(arguments), 0, "20\n");
  }
}

TEST_CASE("values too many for the server's largest packet are asked for by several statements") {
  for (const char* const sharded : {"", R"(, "shard_on": "s")"}) {
    const TestCluster cluster({.shards = 2, .servers = 1, .extra_args = {"--max-allowed-packet=1M"}});
    REQUIRE(cluster.looseleaf({"init"}).status == 0);
    create_index(cluster, fmt::format(R"({{"table": "i", "properties": [{{"name": "s", "type": "string",
                                      "max_length": 250}}, {{"name": "at", "type": "int"}}]{}}})",
                                      sharded));
    std::string values, lines;
    for (std::uint64_t i = 0; i < 6000; ++i) {
      const std::string value = fmt::format("{:0>200}", i);
      values += value + "\n";
      lines += i % 100 == 0 ? entity(i, fmt::format("\"s\":\"{}\",\"at\":{}", value, i)) + "\n" : "";
    }
    put_all(cluster, lines);
    const std::string file = cluster.directory().write("values", values);
    check_run(cluster.looseleaf({"query", "i", "s=@" + file, "--order-by", "at", "--desc", "--limit", "3", "--ids"}), 0,
              lines_of_ids({5900, 5800, 5700}), {"next: "});
    check_run(cluster.looseleaf({"query", "i", "s=@" + file, "--order-by", "at", "--count"}), 0, "60\n");
  }
}

TEST_CASE("a page token is refused with other values, whatever their order") {
  const Posts posts(by_user);
  posts.put(20, 5);
  const std::string token = next_of(posts.query({"user=1", "user=2", "user=2", "--order-by", "at", "--limit", "1"}));
  const auto next = [&](const std::vector<std::string>& arguments) {
    return posts.query(joined(arguments, {"--limit", "1", "--ids", "--after", token}));
  };
  check_run(next({"user=2", "user=1", "--order-by", "at"}), 0, lines_of_ids({2}), {"next: "});
  check_run(next({"user=2", "user=3", "--order-by", "at"}), 2, "",
            {"error: the page token belongs to other values of the conditions\n",
             "hint: give the same values for every page, or begin again without a token\n"});
  for (const std::vector<std::string>& others : {std::vector<std::string>{"user=1", "user=2"},
                                                 {"user=1", "user=2", "--order-by", "user"},
                                                 {"user=1", "user=2", "--order-by", "at", "--desc"},
                                                 {"user=1", "user=2", "at>0", "--order-by", "at"}}) {
    check_run(next(others), 2, "", {"error: the page token belongs to another query"});
  }
}

TEST_CASE("an order that the index does not have is refused with a hint") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_user);
  create_index(cluster, R"({"table": "by_at", "properties": [{"name": "at", "type": "int"},
                                                             {"name": "user", "type": "int"}]})");
  check_run(cluster.looseleaf({"query", "by_user", "--order-by", "at"}), 2, "",
            {"error: index cannot use this order\n", "index: by_user\n", "property: at\n", "can use them: by_at\n",
             "hint: give user with = first, because the index begins with user: user=VALUE --order-by at\n"});
  check_run(cluster.looseleaf({"query", "by_user", "user>3", "--order-by", "at"}), 2, "",
            {"error: index cannot use this order\n", "user=VALUE --order-by at\n"});
  check_run(cluster.looseleaf({"query", "by_user", "user=3", "--order-by", "At"}), 2, "",
            {"error: index has no such property\n", "property: At\n", "hint: did you mean `at`?\n"});
  check_run(cluster.looseleaf({"query", "by_user", "--order-by", "--desc"}), 2, "",
            {"error: another option is the value of --order-by\n", "value: --desc\n", "hint: write --order-by NAME; "});
  check_run(cluster.looseleaf({"query", "by_user", "user=1", "--order-by", "user"}), 0, "");
}

TEST_CASE("one order across values goes on without a shard that is down only if it may") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_user_sharded);
  std::string lines;
  for (std::uint64_t i = 0; i < 40; ++i) {
    lines += entity(2 * i, fmt::format("\"user\":{},\"at\":{}", i % 20, i)) + "\n";
  }
  put_all(cluster, lines);
  cluster.sandbox().kill_server(1);
  const std::string all = cluster.directory().write("all", numbers(20));
  const std::string even = cluster.directory().write("even", "0\n2\n4\n");
  const std::vector<std::string> end = {"--order-by", "at", "--desc", "--limit", "3", "--ids", "--timeout", "1"};
  const auto query = [&](const std::vector<std::string>& arguments) {
    return cluster.looseleaf(joined(joined({"query", "by_user"}, arguments), end));
  };
  check_run(query({"user=@" + even}), 0, lines_of_ids({48, 44, 40}), {"next: "});
  check_run(query({"user=@" + all}), 3, "", {"error: ", "shard: 1\n"});
  check_run(query({"user=@" + all, "--partial"}), 3, lines_of_ids({76, 72, 68}),
            {"warning: results from shard 1 are missing\n", "next: "});
}

TEST_CASE("who gives a file of values without --order-by is told what it takes") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_n);
  check_run(cluster.looseleaf({"query", "by_n", "n=@friends"}), 2, "",
            {"error: ", "  value: @friends\n", "; a file of values needs --order-by\n"});
}

}  // namespace
}  // namespace looseleaf::test

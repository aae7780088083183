// The accounts of docs/operations.md: each can do what its role is for, and nothing beyond.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "config/connection_settings.hpp"
#include "sql/connection.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

const std::array<std::string, 5> roles = {"reader", "verifier", "follower", "writer", "operator"};
constexpr const char* denied = "looseleaf: error: the user lacks a privilege\n";
constexpr const char* by_m = R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}]})";

std::string replace_all(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The statements under "Privileges", for the databases whose names begin so, and for tables for the first one of these.
std::string documented_statements(const std::string& databases, const std::string& database) {
  const std::string page = read_text(LOOSELEAF_OPERATIONS_PAGE);
  const std::size_t begin = page.find("### Privileges\n");
  std::string statements;
  for (const std::string& line : lines_of(page.substr(begin, page.find("\n### ", begin + 1) - begin))) {
    statements += line.starts_with("    ") ? line : "";
  }
  REQUIRE(times("CREATE USER", statements) == roles.size());
  statements = replace_all(replace_all(statements, "`app%`", "`" + databases + "`"), "app_0.", database + ".");
  return replace_all(statements, "'...'", "'secret'");
}

// An initialised cluster with entities, an index, and the accounts.
class WithRoles {
 public:
  WithRoles() : cluster(initialised(2)) {
    create_index(cluster, by_n);
    put_all(cluster, entity(1, "\"n\":1") + entity(2, "\"n\":2") + entity(3, "\"n\":3"));
    const std::string prefix = cluster.database(0).substr(0, cluster.database(0).rfind('_'));
    for (std::uint32_t server = 0; server < 2; ++server) {
      for (const std::string& role : roles) {
        cluster.server_sql(server, fmt::format("DROP USER IF EXISTS app_{}@localhost", role));
      }
      cluster.server_sql(server, documented_statements(prefix + "\\_%", cluster.database(server)));
    }
  }

  [[nodiscard]] cli::ProcessResult as(const std::string& role, std::vector<std::string> arguments,
                                      std::string_view input = {}) const {
    arguments.insert(arguments.begin(), {"looseleaf", "--cluster", cluster_file(role), "--timeout", "10"});
    return run(std::move(arguments), input);
  }

  // The number of the server's error, 0 if it carries the statement out.
  [[nodiscard]] int sql_as(const std::string& role, const std::string& statement) const {
    const Cluster config = Cluster::load(cluster_file(role));
    try {
      sql::Connection connection(config::ConnectionSettings(config, {}).of(config.shards.at(0)));
      connection.execute(statement);
      return 0;
    } catch (const sql::ServerError& error) {
      return error.number();
    }
  }

  TestCluster cluster;

 private:
  [[nodiscard]] std::string cluster_file(const std::string& role) const {
    const std::string options =
        cluster.directory().write(role + ".cnf", fmt::format("[client]\nuser=app_{}\npassword=secret\n", role));
    ::chmod(options.c_str(), S_IRUSR | S_IWUSR);
    return cluster.write_file(role + ".json", fmt::format(R"("defaults_file": "{}")", options));
  }
};

// A command, the status that it has for whoever may run it, and the first of `roles` that may.
struct Smoke {
  std::vector<std::string> arguments;
  std::string input;
  int status;
  std::size_t least;
};

TEST_CASE("each role's account can run the role's commands and is told what it lacks for others") {
  const WithRoles setup;
  const TestCluster empty = initialised();
  const auto& directory = setup.cluster.directory();
  const std::string definition = directory.write("by_m.json", by_m);
  const TemporaryDirectory folder;
  folder.write("by_m.json", by_m);
  const TestCluster other = initialised(3);
  const std::vector<std::string> run_trigger = {"trigger", "run", "t", "--", "sh", "-c", "kill $PPID"};
  CHECK(setup.cluster.looseleaf(run_trigger).status == 143);
  const std::vector<Smoke> cases = {
      {{"status"}, "", 0, 0},
      {{"show-index", "by_n"}, "", 0, 0},
      {{"explain", id_of(1)}, "", 0, 0},
      {{"diff", folder.path()}, "", 1, 0},
      {{"create-index", "--dry-run", definition}, "", 0, 0},
      {{"get", id_of(1)}, "", 0, 0},
      {{"query", "by_n", "n>1"}, "", 0, 0},
      {{"verify"}, "", 0, 1},
      {{"verify", "--against", empty.file(), "--grace", "0"}, "", 1, 0},
      {{"export"}, "", 0, 2},
      {{"changes"}, "", 0, 2},
      {run_trigger, "", 143, 2},
      {{"trigger", "list"}, "", 0, 0},
      {{"copy", "--to", other.file()}, "", 0, 2},
      {{"trigger", "reset", "t"}, "", 0, 2},
      {{"put"}, entity(4, "\"n\":4"), 0, 3},
      {{"put"}, entity(1, "\"n\":5"), 0, 3},
      {{"put", "--if-absent"}, entity(5), 0, 3},
      {{"put", "--merge"}, entity(1, "\"n\":6"), 0, 3},
      {{"update", id_of(1), "--", "sed", R"(s/"n":[0-9]*/"n":7/)"}, "", 0, 3},
      {{"delete", id_of(2)}, "", 0, 3},
      {{"refused", "list"}, "", 0, 0},
      {{"clean", "--full"}, "", 0, 2},  // there is nothing that it would have to delete
      {{"init"}, "", 0, 0},
      {{"create-index", definition}, "", 0, 4},
  };
  for (std::size_t role = 0; role < roles.size(); ++role) {
    CAPTURE(roles[role]);
    put_all(setup.cluster, entity(2, "\"n\":2"));
    static_cast<void>(setup.cluster.looseleaf({"delete", id_of(5), id_of(6)}));
    for (const Smoke& test : cases) {
      CAPTURE(test.arguments[0]);
      const cli::ProcessResult result = setup.as(roles[role], test.arguments, test.input);
      CAPTURE(result.err);
      if (role >= test.least) {
        CHECK(result.status == test.status);
      } else if (test.arguments[0] != "verify") {  // which needs its locks only where it finds something
        check_status(result, 3, {denied, "code: 1142\n", "hint: grant"});
        CHECK(!contains(result.err, "could not be repaired"));  // nothing was inserted
      }
    }
  }
  CHECK(setup.cluster.looseleaf({"verify"}).status == 0);
}

TEST_CASE("a writer may flush what is buffered, and who may only read is told what is missing") {
  const WithRoles setup;
  setup.cluster.sql(0, fmt::format("INSERT INTO looseleaf_buffer VALUES (7, NOW(6), x'{}', 0, NULL, COMPRESS('{}'))",
                                   id_of(6), entity(6)));
  check_status(setup.as("follower", {"flush"}), 3, {denied, "code: 1142\n", "hint: grant", "left 1"});
  check_status(setup.as("writer", {"flush"}), 0, {"stored 1 buffered write\n"});
}

TEST_CASE("a verifier finds what is wrong, under locks, and cannot mend it; a writer can") {
  const WithRoles setup;
  setup.cluster.sql(0, "DELETE FROM by_n; INSERT INTO by_n VALUES (99, x'" + id_of(99) + "')");
  const std::vector<std::string> verify = {"verify", "--grace", "0"};
  const cli::ProcessResult found = setup.as("verifier", verify);
  CHECK(found.status == 1);
  CHECK(times("missing by_n", found.out) > 0);
  CHECK(times("orphan by_n", found.out) == 1);
  const std::vector<std::string> repair = {"verify", "--grace", "0", "--repair"};
  check_status(setup.as("verifier", repair), 3, {denied, "hint: grant"});
  CHECK(setup.as("writer", verify).status == 1);
  CHECK(setup.as("writer", repair).status == 0);
  CHECK(setup.as("verifier", verify).status == 0);
}

TEST_CASE("a store is frozen and thawed by who may write, and moved by an operator") {
  const WithRoles setup;
  const std::vector<std::string> freeze = {"freeze", "--reason", "a test"};
  for (const std::string role : {"reader", "verifier", "follower"}) {
    CAPTURE(role);
    check_status(setup.as(role, freeze), 3, {denied, "hint: grant"});
    CHECK(setup.as("writer", freeze).status == 0);
    check_status(setup.as(role, {"thaw"}), 3, {"could not open every shard\n", "not opened: 0, 1\n", "hint: grant"});
    CHECK(setup.as("operator", {"thaw"}).status == 0);
  }
  const TestCluster other = initialised(3);
  const std::vector<std::string> finish = {"copy", "--to", other.file(), "--finish"};
  for (const std::string role : {"follower", "writer"}) {
    check_status(setup.as(role, finish), 3, {denied, "hint: grant"});
  }
  CHECK(rows_of(other, "entities") == 0);  // it was refused before it copied
  CHECK(setup.as("writer", {"put"}, entity(4)).status == 0);
  CHECK(setup.as("operator", finish).status == 0);
  CHECK(setup.as("writer", {"put"}, entity(4)).status == 2);
}

TEST_CASE("an index that a writer tries to drop stays in use until an operator drops it") {
  const WithRoles setup;
  const std::vector<std::string> drop = {"drop-index", "by_n", "--yes"};
  const std::vector<std::string> keep = {"drop-index", "by_n", "--yes", "--keep-table"};
  for (const std::string role : {"reader", "verifier", "writer"}) {
    CAPTURE(role);
    for (const auto& arguments : {drop, keep}) {
      check_status(setup.as(role, arguments), 3, {denied, "hint: grant", "; nothing was changed\n"});
    }
    CHECK(rows_of(setup.cluster, "by_n") == 3);
    CHECK(setup.as(role, {"query", "by_n"}).status == 0);
  }
  CHECK(setup.as("operator", drop).status == 0);
  CHECK_THROWS(static_cast<void>(rows_of(setup.cluster, "by_n")));
}

TEST_CASE("an operator creates an index, and a writer may fill it") {
  const WithRoles setup;
  const std::string definition = setup.cluster.directory().write("by_m.json", by_m);
  put_all(setup.cluster, entity(4, "\"m\":4") + entity(5, "\"m\":5"));
  check_status(setup.as("operator", {"create-index", definition}), 0, {"created by_m: building"});
  for (const std::string role : {"reader", "verifier"}) {
    CAPTURE(role);
    check_status(setup.as(role, {"backfill"}), 3, {denied, "hint: grant"});
    check_status(setup.as(role, {"query", "by_m"}), 2, {"looseleaf: error: index is still building\n"});
  }
  check_status(setup.as("writer", {"backfill"}), 0, {"by_m: ready\n"});
  CHECK(times("\n", setup.as("reader", {"query", "by_m"}).out) == 2);
}

TEST_CASE("an operator may drop an index and keep its table") {
  const WithRoles setup;
  const cli::ProcessResult result = setup.as("operator", {"drop-index", "by_n", "--yes", "--keep-table"});
  check_status(result, 0, {"looseleaf: dropped by_n; its tables are kept as "});
  const std::string kept = result.err.substr(result.err.find("by_n_dropped_"));
  CHECK(rows_of(setup.cluster, kept.substr(0, kept.find('\n'))) == 3);
}

TEST_CASE("what a role is not for the server refuses, whatever program asks") {
  const WithRoles setup;
  // With each statement the first of `roles` that may; as many as there are for none.
  const std::vector<std::pair<std::string, std::size_t>> cases = {
      {"SELECT COUNT(*) FROM entities", 0},
      {"DO GET_LOCK('looseleaf.update.x', 0), RELEASE_LOCK('looseleaf.update.x')", 0},  // as update does, and jobs
      {"SET SESSION wait_timeout = 600", 0},
      {"UPDATE looseleaf_shard SET epoch = epoch", 3},
      {"REPLACE INTO by_n VALUES (77, x'00000000000000000000000000000077')", 3},
      {"INSERT IGNORE INTO by_n VALUES (78, x'00000000000000000000000000000078')", 3},
      {"DELETE FROM by_n WHERE n IN (77, 78)", 3},
      {"CREATE TABLE more (a INT)", 4},
      {"ALTER TABLE more ADD COLUMN b INT", 4},
      {"DROP TABLE more", 4},
      {"CREATE TRIGGER t BEFORE INSERT ON entities FOR EACH ROW SET @a = 1", 5},
      {"CREATE VIEW v AS SELECT 1", 5},
      {"CREATE PROCEDURE p() SELECT 1", 5},
      {"SELECT * FROM mysql.user", 5},
      {"CREATE USER other@localhost", 5},
      {"GRANT SELECT ON *.* TO app_reader@localhost", 5},
      {"SET GLOBAL read_only = 0", 5},
      {"SELECT 'x' INTO OUTFILE 'looseleaf-roles-test'", 5},
      {"CREATE DATABASE another", 5},
  };
  for (const auto& [statement, least] : cases) {
    CAPTURE(statement);
    for (std::size_t role = 0; role < roles.size(); ++role) {
      CAPTURE(roles[role]);
      const int number = setup.sql_as(roles[role], statement);
      CAPTURE(number);
      CHECK((number == 0) == (role >= least));
      const bool refused = number == 1044 || number == 1045 || number == 1142 || number == 1143 || number == 1227 ||
                           number == 1370 || number == 1290;  // the last: no files at all, for nobody
      CHECK((number == 0 || refused));
    }
  }
}

}  // namespace
}  // namespace looseleaf::test

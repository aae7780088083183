// The sql layer against a real server: the session as set up, errors as they arrive, and what quoting relies on.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <looseleaf/error.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/connection_settings.hpp"
#include "sql/connection.hpp"
#include "sql/literals.hpp"
#include "sql/statement.hpp"
#include "sql/transaction.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::sql {
namespace {

using namespace std::string_literals;
using test::TestCluster;

// A cluster of one shard with its database, and ways to connect to it.
struct Fixture {
  TestCluster cluster = TestCluster::shared(1);

  Fixture() { cluster.create_databases(); }

  [[nodiscard]] ConnectOptions options() const {
    ShardConfig shard;
    shard.address.socket = cluster.socket(0);
    shard.database = cluster.database(0);
    Cluster one_shard;
    one_shard.shards = {shard};
    return config::ConnectionSettings(one_shard, {cluster.defaults_file(), SslMode::disabled}).of(shard);
  }
  [[nodiscard]] std::unique_ptr<Connection> connect() const { return std::make_unique<Connection>(options()); }
};

// A transient server-wide setting, put back at the end.
class GlobalSetting {
 public:
  GlobalSetting(const TestCluster& cluster, const std::string& name, const std::string& value)
      : cluster_(cluster), name_(name), before_(cluster.server_sql(0, "SELECT @@global." + name)) {
    before_.erase(before_.find_last_not_of(" \n") + 1);
    const bool is_number = !before_.empty() && before_.find_first_not_of("0123456789") == std::string::npos;
    before_ = is_number ? before_ : "'" + before_ + "'";
    set(value);
  }
  ~GlobalSetting() { set(before_); }
  GlobalSetting(const GlobalSetting&) = delete;
  GlobalSetting& operator=(const GlobalSetting&) = delete;

 private:
  void set(const std::string& value) const { cluster_.server_sql(0, "SET GLOBAL " + name_ + "=" + value); }

  const TestCluster& cluster_;
  std::string name_;
  std::string before_;
};

template <typename Action>
ServerError failure_of(const Action& action) {
  return test::error_of<ServerError>(action);
}

TEST_CASE_FIXTURE(Fixture, "a session has everything set that the protocol relies on") {
  const auto connection = connect();
  const bool mariadb = connection->facts().flavour == Flavour::mariadb;
  const std::pair<std::string, std::string> expected[] = {
      {mariadb ? "tx_isolation" : "transaction_isolation", "READ-COMMITTED"},
      {"autocommit", "1"},
      {"completion_type", "NO_CHAIN"},
      {"unique_checks", "1"},
      {"foreign_key_checks", "1"},
      {"time_zone", "+00:00"},
      {"wait_timeout", "30"},
      {"innodb_lock_wait_timeout", "2"},
      {"lock_wait_timeout", "2"},
      {"character_set_client", "utf8mb4"},
      {"character_set_connection", "utf8mb4"},
      {"character_set_results", "utf8mb4"},
      {"collation_connection", "utf8mb4_bin"},
      {"sql_mode", "STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"},
  };
  for (const auto& c : expected) {
    CAPTURE(c.first);
    CHECK(connection->query("SELECT @@session." + c.first).text(0, 0) == c.second);
  }
}

// sql_select_limit=1 once cut short what SHOW VARIABLES says on MySQL, and with it the checks of the server.
TEST_CASE_FIXTURE(Fixture, "settings that the server imposes on new sessions do not get through") {
  const GlobalSetting autocommit(cluster, "autocommit", "0");
  const GlobalSetting select_limit(cluster, "sql_select_limit", "1");
  const GlobalSetting join_size(cluster, "max_join_size", "1000");
  const GlobalSetting mode(cluster, "sql_mode", "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'");
  std::optional<GlobalSetting> conversion;
  if (test::looseleaf_flavour() == "mariadb") {
    conversion.emplace(cluster, "in_predicate_conversion_threshold", "2");
  }
  const auto connection = connect();
  CHECK(connection->query("SELECT @@autocommit").text(0, 0) == "1");
  CHECK(connection->query("SELECT 1 UNION SELECT 2").size() == 2);
  connection->execute("CREATE TABLE many (n INT PRIMARY KEY) ENGINE=InnoDB");
  std::string rows = "(0)";
  for (int n = 1; n < 50; ++n) {
    rows += fmt::format(", ({})", n);
  }
  connection->execute("INSERT INTO many VALUES " + rows);
  CHECK(connection->query("SELECT 1 FROM many a, many b").size() == 2500);
  CHECK(connection->query("EXPLAIN SELECT 1 FROM many WHERE n IN (1, 2, 3)").size() == 1);  // no temporary table
  CHECK(connection->query("SELECT \"text\"").text(0, 0) == "text");
}

TEST_CASE_FIXTURE(Fixture, "a connection knows its server") {
  const auto connection = connect();
  CHECK(
      connection->facts().version.starts_with(connection->facts().flavour == Flavour::mariadb ? "MariaDB " : "MySQL "));
  CHECK(connection->facts().flavour == (test::looseleaf_flavour() == "mariadb" ? Flavour::mariadb : Flavour::mysql));
  const Result facts = connection->query("SELECT CONNECTION_ID(), @@max_allowed_packet");
  CHECK(connection->facts().connection_id == facts.unsigned_integer(0, 0));
  CHECK(connection->facts().max_allowed_packet == facts.unsigned_integer(0, 1));
}

std::uint64_t prepared_here(Connection& connection) {
  return connection.query("SHOW SESSION STATUS LIKE 'Com_stmt_execute'").unsigned_integer(0, 1);
}

TEST_CASE_FIXTURE(Fixture, "a statement that comes again is prepared, and answers the same") {
  const auto connection = connect();
  connection->execute(
      "CREATE TABLE t (b BINARY(16), s VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, i BIGINT, u BIGINT "
      "UNSIGNED, d DOUBLE, t DATETIME(6), y TINYINT, m MEDIUMBLOB)");
  connection->execute(
      "INSERT INTO t VALUES (x'000102F0F1F2FF270000000000000020', 'a''\u00e4\\ ', -9223372036854775808, "
      "18446744073709551615, 0.1, '2026-01-02 03:04:05', -1, x'00FF'), "
      "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
      "(x'000102F0F1F2FF270000000000000020', '', 9223372036854775807, 0, 1.7976931348623157e308, "
      "'2026-01-02 03:04:05.000009', 0, ''), "
      "(x'000102F0F1F2FF270000000000000020', '', 0, 0, -5e-324, '2026-01-02 03:04:05.1', 127, '')");
  const auto all = [](int from) {
    return Statement("SELECT b, s, i, u, d, t, y, m, @@global.read_only FROM t WHERE i IS NULL OR y > ")
        .add_integer(from);
  };
  const auto cells = [](const Result& result) {
    std::vector<std::optional<std::string>> all_cells;
    for (std::size_t i = 0; i < result.size() * 9; ++i) {
      // Servers write numbers in one way or another that read back the same.
      const auto& cell = result.cell(i / 9, i % 9);
      all_cells.push_back(cell && i % 9 == 4 ? std::optional(fmt::format("{}", std::stold(*cell))) : cell);
    }
    return all_cells;
  };
  const auto first = connection->query(all(-2));
  CHECK(prepared_here(*connection) == 0);
  const auto second = connection->query(all(-2));
  CHECK(prepared_here(*connection) == 1);
  CHECK(cells(second) == cells(first));
  REQUIRE(second.size() == 4);
  CHECK(second.text(0, 4) == "0.1");
  CHECK(second.text(0, 5) == "2026-01-02 03:04:05.000000");
  CHECK(connection->query(all(-1)).size() == 3);  // of the same shape
  CHECK(connection->query(all(-1)).size() == 3);
  CHECK(prepared_here(*connection) == 3);
}

TEST_CASE_FIXTURE(Fixture, "values of a prepared statement mean what they mean as literals") {
  const auto connection = connect();
  connection->execute(
      "CREATE TABLE t (b BINARY(3) NOT NULL, s VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, "
      "i BIGINT NOT NULL, d DOUBLE NOT NULL)");
  connection->execute("INSERT INTO t VALUES (x'00FF27', _utf8mb4 x'27C3A45C3F', -5, 0.1)");
  for (int time = 0; time < 3; ++time) {
    CAPTURE(time);
    const auto found = [&](const Statement& statement) { return connection->query(statement).size(); };
    CHECK(found(Statement("SELECT i FROM t WHERE b = ").add_bytes("\0\xFF'"s)) == 1);
    CHECK(found(Statement("SELECT i FROM t WHERE b = ").add_bytes("\0\xFF\\"s)) == 0);
    CHECK(found(Statement("SELECT i FROM t WHERE s = ").add_text("'\u00e4\\?")) == 1);
    CHECK(found(Statement("SELECT i FROM t WHERE s = ").add_text("'\u00c4\\?")) == 0);
    CHECK(found(Statement("SELECT i FROM t WHERE i = ").add_integer(-5)) == 1);
    CHECK(found(Statement("SELECT i FROM t WHERE d = ").add_double(0.1)) == 1);
    CHECK(found(Statement("SELECT i FROM t WHERE d < ").add_double(0.1)) == 0);
  }
  CHECK(prepared_here(*connection) == 16);
}

TEST_CASE_FIXTURE(Fixture, "where no statement can be prepared it is sent as text") {
  const GlobalSetting none(cluster, "max_prepared_stmt_count", "0");
  const auto connection = connect();
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(connection->query(Statement("SELECT 1 + ").add_integer(i)).integer(0, 0) == i + 1);
  }
  CHECK_FALSE(connection->broken());
  CHECK(prepared_here(*connection) == 0);
}

TEST_CASE_FIXTURE(Fixture, "no more statements stay prepared than a session may hold") {
  const auto connection = connect();
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t i = 0; i < 40; ++i) {
      for (int time = 0; time < 3; ++time) {
        CHECK(connection->query(Statement(fmt::format("SELECT {} + ", i)).add_integer(1)).integer(0, 0) == i + 1);
      }
    }
  }
  CHECK(prepared_here(*connection) == 160);
  CHECK(cluster.status(0, "Prepared_stmt_count") <= 16);
}

TEST_CASE_FIXTURE(Fixture, "a prepared statement follows its table") {
  const auto connection = connect();
  const auto all = [&] { return connection->query(Statement("SELECT a FROM t")); };
  connection->execute("CREATE TABLE t (a INT)");
  connection->execute("INSERT INTO t VALUES (1)");
  CHECK(all().text(0, 0) == "1");
  CHECK(all().text(0, 0) == "1");
  cluster.sql(0, "DROP TABLE t");
  CHECK(failure_of([&] { all(); }).error_class() == ErrorClass::table_gone);
  cluster.sql(0, "CREATE TABLE t (a VARCHAR(30))");
  cluster.sql(0, "INSERT INTO t VALUES ('some text')");
  CHECK(all().text(0, 0) == "some text");
  CHECK(all().text(0, 0) == "some text");
  cluster.sql(0, "DROP TABLE t");
  cluster.sql(0, "CREATE TABLE t (a DOUBLE)");
  cluster.sql(0, "INSERT INTO t VALUES (0.5)");
  CHECK(all().text(0, 0) == "0.5");
  CHECK(prepared_here(*connection) >= 4);  // servers count those that begin anew
  CHECK_FALSE(connection->broken());
}

// As in a failover: what a server is must be asked anew each time, in every place where it is asked.
TEST_CASE_FIXTURE(Fixture, "a prepared statement sees that its server has become read-only") {
  const auto connection = connect();
  connection->execute("CREATE TABLE t (a INT NOT NULL)");
  connection->execute("INSERT INTO t VALUES (1), (2)");
  const auto writable = [&] {
    const Result found = connection->query(
        Statement(fmt::format("SELECT IF({0}, a, NULL), {0} AS ready, @@global.read_only FROM t WHERE a > ",
                              connection->facts().is_writable))
            .add_integer(0));
    const bool by_column = found.text(0, 2) == "0" || found.text(0, 2) == "OFF";
    CHECK(found.cell(1, 0).has_value() == by_column);
    CHECK((found.text(1, 1) == "1") == by_column);
    return by_column;
  };
  for (int time = 0; time < 3; ++time) {
    CHECK(writable());
  }
  {
    const GlobalSetting read_only(cluster, "read_only", "1");
    CHECK_FALSE(writable());
  }
  CHECK(writable());
  CHECK(prepared_here(*connection) >= 4);
}

TEST_CASE_FIXTURE(Fixture, "a statement that meets a lock while it is prepared is a conflict, and prepared later") {
  const auto connection = connect(), other = connect();
  const auto all = [&] { return connection->query(Statement("SELECT a FROM t")); };
  connection->execute("CREATE TABLE t (a INT)");
  connection->execute("INSERT INTO t VALUES (1)");
  CHECK(all().text(0, 0) == "1");
  other->execute("LOCK TABLES t WRITE");
  CHECK(failure_of([&] { all(); }).error_class() == ErrorClass::conflict);
  CHECK_FALSE(connection->broken());
  other->execute("UNLOCK TABLES");
  CHECK(all().text(0, 0) == "1");
  CHECK(prepared_here(*connection) >= 1);
}

TEST_CASE_FIXTURE(Fixture, "a session that is killed is noticed by its prepared statements too") {
  const auto connection = connect();
  const auto ask = [&] { static_cast<void>(connection->query(Statement("SELECT 1"))); };
  ask();
  ask();
  cluster.server_sql(0, fmt::format("KILL {}", connection->facts().connection_id));
  CHECK(failure_of(ask).error_class() == ErrorClass::connection_lost);
  CHECK(connection->broken());
}

TEST_CASE_FIXTURE(Fixture, "values come back byte for byte, and null is not empty") {
  const auto connection = connect();
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) {
    all_bytes += static_cast<char>(byte);
  }
  const std::string text = "\xf0\x9f\x8d\x82 '\"\\\n";
  Result result = connection->query("SELECT " + bytes_literal(all_bytes) + ", " + text_literal(text) + ", NULL, " +
                                    bytes_literal("") + ", " + integer_literal(-5) + ", " + double_literal(-0.0));
  REQUIRE(result.size() == 1);
  CHECK(result.text(0, 0) == all_bytes);
  CHECK(result.text(0, 1) == text);
  CHECK_FALSE(result.cell(0, 2).has_value());
  CHECK_THROWS_AS(static_cast<void>(result.text(0, 2)), Error);
  CHECK(result.text(0, 3).empty());
  CHECK(result.integer(0, 4) == -5);
  CHECK(result.text(0, 5) == "0");
  CHECK(result.take(0, 0) == all_bytes);
  CHECK_THROWS_AS(static_cast<void>(result.integer(0, 1)), Error);
}

TEST_CASE_FIXTURE(Fixture, "a statement that takes longer than it may is not taken for a broken network") {
  ConnectOptions impatient = options();
  impatient.read_timeout = std::chrono::seconds(1);
  Connection connection(impatient);
  const ServerError error = failure_of([&] { static_cast<void>(connection.query("SELECT SLEEP(20)")); });
  CHECK(std::string(error.what()) == "the server did not answer a statement in time");
  CHECK(error.error_class() == ErrorClass::connection_lost);
  CHECK(error.retryable());
  const std::string waited = test::context_of(error, "waited");
  CHECK_MESSAGE((std::stod(waited) >= 1 && std::stod(waited) < 15), waited);
}

TEST_CASE_FIXTURE(Fixture, "a statement that changes nothing counts no row") {
  const auto connection = connect();
  connection->execute("CREATE TABLE t (a BINARY(2) PRIMARY KEY) ENGINE=InnoDB");
  CHECK(connection->execute("INSERT INTO t VALUES (x'4100'), (x'4200')") == 2);
  const std::string again = "INSERT INTO t VALUES (x'4100'), (x'4300') ON DUPLICATE KEY UPDATE a = a";
  CHECK(connection->execute(again) == 1);
  CHECK(connection->execute("UPDATE t SET a = x'4100' WHERE a = x'4100'") == 0);
  CHECK(connection->query("SELECT a FROM t WHERE a = x'4100'").text(0, 0) == "A\0"s);
  CHECK(connection->query("SELECT a FROM t WHERE a = x'0000'").empty());
}

TEST_CASE_FIXTURE(Fixture, "a transaction begins with its first statement, whatever that is") {
  const auto connection = connect();
  const auto other = connect();
  connection->execute("CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB");
  connection->execute("INSERT INTO t VALUES (0)");
  const std::pair<const char*, std::function<void()>> cases[] = {
      {"a count", [&] { CHECK(connection->execute("INSERT INTO t VALUES (1), (2), (3)") == 3); }},
      {"a count of nothing",
       [&] { CHECK(connection->execute("INSERT INTO t VALUES (0) ON DUPLICATE KEY UPDATE a = a") == 0); }},
      {"rows", [&] { CHECK(connection->query("SELECT a FROM t WHERE a = 0 FOR UPDATE").integer(0, 0) == 0); }},
      {"no rows", [&] { CHECK(connection->query("SELECT a FROM t WHERE a = 9 FOR UPDATE").empty()); }},
      {"ignored rows", [&] { CHECK(connection->execute("SELECT a FROM t FOR UPDATE") == 0); }},
      {"a statement to prepare",
       [&] {
         for (int i = 0; i < 3; ++i) {
           CHECK(connection->query(Statement("SELECT a FROM t WHERE a = ").add_integer(0)).integer(0, 0) == 0);
         }
       }},
      {"a duplicate key",
       [&] {
         CHECK(failure_of([&] { connection->execute("INSERT INTO t VALUES (0)"); }).error_class() ==
               ErrorClass::duplicate_key);
       }},
      {"an absent table",
       [&] {
         CHECK(failure_of([&] { static_cast<void>(connection->query("SELECT 1 FROM absent")); }).error_class() ==
               ErrorClass::table_gone);
       }},
  };
  for (const auto& [name, first] : cases) {
    CAPTURE(name);
    {
      const Transaction transaction(*connection);
      first();
      CHECK(connection->execute("INSERT INTO t VALUES (8)") == 1);
    }
    CHECK_FALSE(connection->broken());
    CHECK(other->query("SELECT a FROM t").size() == 1);
    Transaction transaction(*connection);
    first();
    CHECK(connection->execute("INSERT INTO t VALUES (8)") == 1);
    transaction.commit();
    transaction.roll_back();
    CHECK(other->execute("DELETE FROM t WHERE a > 0") >= 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "a lock wait ends after two seconds as a conflict, and leaves nothing locked") {
  const auto holder = connect(), waiter = connect();
  holder->execute("CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB");
  holder->execute("INSERT INTO t VALUES (1), (2)");
  {
    const Transaction holding(*holder);
    holder->execute("DELETE FROM t WHERE a = 2");
    const Transaction transaction(*waiter);
    const auto begin = std::chrono::steady_clock::now();
    const auto error = failure_of([&] { static_cast<void>(waiter->query("SELECT a FROM t FOR UPDATE")); });
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));  // 50 by default
    CHECK(error.error_class() == ErrorClass::conflict);
    CHECK(error.number() == 1205);
  }
  CHECK_FALSE(waiter->broken());
  CHECK(holder->query("SELECT a FROM t FOR UPDATE NOWAIT").size() == 2);
  CHECK(waiter->query("SELECT 1").size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a transaction without a statement is none") {
  const auto connection = connect();
  connection->execute("CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB");
  { const Transaction transaction(*connection); }
  Transaction(*connection).commit();
  connection->execute("INSERT INTO t VALUES (1)");
  CHECK(connect()->query("SELECT a FROM t").size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "several statements at once are refused, and a semicolon in a name is not") {
  const auto connection = connect();
  connection->execute("CREATE TABLE " + quote_identifier("a;`b") + " (a INT) ENGINE=InnoDB");
  CHECK(connection->query("SELECT a FROM " + quote_identifier("a;`b")).empty());
  CHECK_THROWS_AS(connection->execute("DO 1; DO 2"), Error);
  CHECK_THROWS_AS(connection->execute("DROP TABLE `a;``b`;"), Error);
  CHECK_THROWS_AS(static_cast<void>(connection->query("SELECT 1; SELECT 2")), Error);
  CHECK_THROWS_AS(static_cast<void>(connection->query(Statement("SELECT 1; SELECT ").add_integer(2))), Error);
  CHECK_FALSE(connection->broken());
  CHECK(connection->query("SELECT 1").size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "errors of the server arrive with their class") {
  const auto connection = connect();
  connection->execute("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(2)) ENGINE=InnoDB");
  connection->execute("INSERT INTO t VALUES (1, '')");
  const std::pair<std::string, ErrorClass> cases[] = {
      {"INSERT INTO t VALUES (1, '')", ErrorClass::duplicate_key},
      {"SELECT * FROM absent", ErrorClass::table_gone},
      {"INSERT INTO t VALUES (2, 'too long')", ErrorClass::permanent},
      {"SELECT nonsense nonsense nonsense", ErrorClass::permanent},
  };
  for (const auto& c : cases) {
    CAPTURE(c.first);
    CHECK(failure_of([&] { connection->execute(c.first); }).error_class() == c.second);
  }
  CHECK_FALSE(connection->broken());
}

TEST_CASE_FIXTURE(Fixture, "a killed session is a lost connection, also inside a transaction") {
  const auto killed = connect();
  const auto killer = connect();
  const Transaction transaction(*killed);
  killer->execute("KILL " + std::to_string(killed->facts().connection_id));
  const auto error = failure_of([&] {
    while (true) {
      static_cast<void>(killed->query("SELECT 1"));
    }
  });
  CHECK((error.error_class() == ErrorClass::connection_lost || error.error_class() == ErrorClass::statement_killed));
  static_cast<void>(failure_of([&] { killed->commit(); }));
  CHECK(killed->broken());
}

TEST_CASE_FIXTURE(Fixture, "a statement larger than the server accepts says what to raise") {
  const auto connection = connect();
  const std::string large(connection->facts().max_allowed_packet + 1024, 'x');
  const auto error = failure_of([&] { static_cast<void>(connection->query("SELECT '" + large + "'")); });
  CHECK((error.error_class() == ErrorClass::too_large || error.error_class() == ErrorClass::connection_lost));
}

// Whether the server has TLS depends on its vendor; what must never happen is plain text where TLS is required.
TEST_CASE_FIXTURE(Fixture, "where tls is required a connection is encrypted or refused") {
  auto changed = options();
  const auto cipher = [&](SslMode mode) {
    changed.tls.mode = mode;
    return Connection(changed).query("SHOW SESSION STATUS LIKE 'Ssl_cipher'").text(0, 1);
  };
  CHECK(cipher(SslMode::disabled).empty());
  if (cipher(SslMode::preferred).empty()) {
    const auto error = failure_of([&] { static_cast<void>(cipher(SslMode::required)); });
    CHECK(std::string(error.what()) == "the connection is not encrypted");
    CHECK_FALSE(error.retryable());
  } else {
    CHECK_FALSE(cipher(SslMode::required).empty());
  }
  for (const SslMode mode : {SslMode::verify_ca, SslMode::verify_identity}) {
    CHECK_FALSE(failure_of([&] { static_cast<void>(cipher(mode)); }).retryable());
  }
}

TEST_CASE_FIXTURE(Fixture, "a read-only server is refused to writers alone") {
  const GlobalSetting read_only(cluster, "read_only", "1");
  auto refused = options();
  CHECK(failure_of([&] { const Connection connection(refused); }).error_class() == ErrorClass::failing_over);
  refused.require_writable = false;
  CHECK(Connection(refused).query("SELECT 1").size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "unsafe durability settings come as warnings") {
  CHECK(connect()->facts().warnings.empty());
  const GlobalSetting unsafe(cluster, "innodb_flush_log_at_trx_commit", "2");
  CHECK(connect()->facts().warnings.size() == 1);
}

std::string with_name(const std::string& statement, const std::string& name) {
  std::string sql;
  for (const char c : statement) {
    sql += c == '#' ? name : std::string(1, c);
  }
  return sql;
}

TEST_CASE_FIXTURE(Fixture, "a word that is left bare is a word that the server takes bare") {
  const auto connection = connect();
  const Result words = connection->query("SELECT LOWER(word) FROM information_schema.keywords");
  REQUIRE(words.size() > 200);
  for (std::size_t row = 0; row < words.size(); ++row) {
    const std::string word = words.text(row, 0);
    const std::string name = quote_identifier(word);
    if (name != word) {
      continue;
    }
    CAPTURE(word);
    for (const std::string statement :
         {"CREATE TEMPORARY TABLE # (# INT, UNIQUE KEY (#))",
          "INSERT INTO # (#) VALUES (1) ON DUPLICATE KEY UPDATE # = #",
          "SELECT #, #.# FROM # WHERE # > 0 AND #.# IN (1) ORDER BY #", "SELECT #.# AS # FROM # #",
          "UPDATE # SET # = 2 WHERE # = 1", "ALTER TABLE # ADD KEY (#)", "DELETE FROM # WHERE # = 2",
          "DROP TEMPORARY TABLE #"}) {
      CAPTURE(statement);
      CHECK_NOTHROW(connection->execute(with_name(statement, name)));
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "doubles survive the way to the server and back") {
  const auto connection = connect();
  connection->execute("CREATE TABLE t (a DOUBLE PRIMARY KEY) ENGINE=InnoDB");
  for (const double value : {0.1, -1.0 / 3, 1.7976931348623157e308, 2.2250738585072014e-308, 9007199254740993.0}) {
    connection->execute("INSERT INTO t VALUES (" + double_literal(value) + ")");
    CHECK(connection->query("SELECT a FROM t WHERE a = " + double_literal(value)).size() == 1);
    CHECK(std::stod(connection->query("SELECT a FROM t").text(0, 0)) == value);
    connection->execute("DELETE FROM t");
  }
}

}  // namespace
}  // namespace looseleaf::sql

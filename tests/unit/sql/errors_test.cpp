// What error numbers mean, by vendor and by phase, and what a user gets to read of them.
#include "sql/errors.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <tuple>

#include "tests/support/errors.hpp"

namespace looseleaf::sql {
namespace {

constexpr auto mariadb = std::optional(Flavour::mariadb);
constexpr auto mysql = std::optional(Flavour::mysql);
constexpr std::optional<Flavour> connecting;

struct Case {
  int number;
  std::string message;
  std::optional<Flavour> flavour;
  ErrorClass expected;
};

void check(const std::initializer_list<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.number);
    CAPTURE(c.message);
    CHECK(classify(c.number, c.message, c.flavour) == c.expected);
  }
}

TEST_CASE("conflicts ask for a replay of the transaction") {
  check({{1213, "", mariadb, ErrorClass::conflict},
         {1213, "", mysql, ErrorClass::conflict},
         {1205, "", mariadb, ErrorClass::conflict},
         {1205, "", mysql, ErrorClass::conflict},
         {1020, "", mariadb, ErrorClass::conflict},
         {1020, "", mysql, ErrorClass::permanent},
         {3572, "", mysql, ErrorClass::conflict},
         {3572, "", mariadb, ErrorClass::permanent}});
}

TEST_CASE("a refused connection is tried again, a blocked host or a used up quota is not") {
  for (const int number : {1040, 1203, 2002, 2003, 2005, 3032, 3168}) {
    check({{number, "", connecting, ErrorClass::not_connected}, {number, "", mysql, ErrorClass::not_connected}});
  }
  check({{1129, "", connecting, ErrorClass::permanent}, {1226, "", mysql, ErrorClass::permanent}});
  const char* const now = "User 'app' has exceeded the 'max_user_connections' resource (current value: 3)";
  check({{1226, now, connecting, ErrorClass::not_connected}});
  check(
      {{9001, "Max connect timeout reached while reaching hostgroup 1 after 10000ms", mysql, ErrorClass::not_connected},
       {9001, "", mysql, ErrorClass::permanent}});
  CHECK(make_server_error(1226, now, connecting, "s").hint() ==
        "raise max_user_connections, or run fewer commands at once");
}

TEST_CASE("a lost connection leaves the outcome unknown, unless it was never up") {
  for (const int number : {1053, 1158, 1159, 1160, 1161, 1180, 1243, 2006, 2013, 2055}) {
    check({{number, "", mariadb, ErrorClass::connection_lost},
           {number, "", mysql, ErrorClass::connection_lost},
           {number, "", connecting, ErrorClass::not_connected}});
  }
}

TEST_CASE("numbers that collide between the vendors are told apart") {
  check({{1927, "", mariadb, ErrorClass::connection_lost},
         {1927, "", mysql, ErrorClass::permanent},
         {3169, "", mysql, ErrorClass::connection_lost},
         {3169, "", mariadb, ErrorClass::permanent},
         {4031, "", mysql, ErrorClass::connection_lost},
         {4031, "", mariadb, ErrorClass::permanent},
         {3024, "", mysql, ErrorClass::statement_killed},
         {3024, "", mariadb, ErrorClass::permanent},
         {1969, "", mariadb, ErrorClass::statement_killed},
         {1969, "", mysql, ErrorClass::permanent},
         {1317, "", mysql, ErrorClass::statement_killed},
         {1317, "", mariadb, ErrorClass::statement_killed}});
}

// The client library reports a connection that ends or times out under TLS as 2026, not as 2006 or 2013.
TEST_CASE("a tls error of a session that was up is a lost connection") {
  check({{2026, "TLS/SSL error: unexpected eof while reading", mariadb, ErrorClass::connection_lost},
         {2026, "TLS/SSL error: Connection timed out (110)", mysql, ErrorClass::connection_lost},
         {2026, "TLS/SSL error: unexpected eof while reading", connecting, ErrorClass::not_connected},
         {2026, "TLS/SSL error: self-signed certificate", connecting, ErrorClass::permanent}});
}

TEST_CASE("1290 means read-only only if it says so") {
  check({{1290, "running with the --read-only option", mariadb, ErrorClass::failing_over},
         {1290, "running with the --super-read-only option", mysql, ErrorClass::failing_over},
         {1290, "running with the --secure-file-priv option", mysql, ErrorClass::permanent},
         {1792, "", mysql, ErrorClass::failing_over},
         {1836, "", mysql, ErrorClass::failing_over},
         {1874, "", mysql, ErrorClass::failing_over}});
}

TEST_CASE("a group that has no primary for a moment is asked again") {
  for (const int number : {3100, 3781, 3782, 3783, 3797, 3798}) {
    check({{number, "", mysql, ErrorClass::failing_over}, {number, "", mariadb, ErrorClass::permanent}});
    const ServerError error = make_server_error(number, "", mysql, "s");
    CHECK(std::string(error.what()).find("read-only") == std::string::npos);
    CHECK(test::is_worded_as_hint(error.hint()));
  }
}

TEST_CASE("what no retry can cure is permanent or has a class of its own") {
  check({{1062, "", mariadb, ErrorClass::duplicate_key},
         {1146, "", mysql, ErrorClass::table_gone},
         {1153, "", mysql, ErrorClass::too_large},
         {2020, "", mariadb, ErrorClass::too_large}});
  for (const int number : {0, 1021, 1044, 1045, 1049, 1054, 1064, 1114, 1142, 1406, 2054, 2059, 9999}) {
    check({{number, "", mariadb, ErrorClass::permanent}, {number, "", mysql, ErrorClass::permanent}});
  }
}

TEST_CASE("a transient error is retryable and unavailable, a permanent one is the server's last word") {
  const auto transient = make_server_error(1213, "Deadlock found", mysql, "db:3306");
  CHECK(transient.retryable());
  CHECK(transient.code() == ErrorCode::unavailable);
  CHECK(transient.number() == 1213);
  for (const int number : {1045, 1062, 1146, 1153}) {
    const auto permanent = make_server_error(number, "", mysql, "db:3306");
    CHECK_FALSE(permanent.retryable());
    CHECK(permanent.code() == ErrorCode::server);
  }
}

TEST_CASE("an error names server, code and the server's message") {
  const auto error = make_server_error(1049, "Unknown database 'x'", connecting, "db:3306");
  CHECK(std::string(error.what()) == "the database does not exist");
  CHECK(test::context_of(error, "server") == "db:3306");
  CHECK(test::context_of(error, "code") == "1049");
  CHECK(test::context_of(error, "message") == "Unknown database 'x'");
  CHECK(error.hint().find("looseleaf init") != std::string::npos);
}

// A server that hangs takes the connection; one that refuses it answers.
TEST_CASE("silence while connecting is told apart from a connection that ended") {
  const auto what_of = [](int number, const std::string& message, std::optional<Flavour> flavour) {
    return std::string(make_server_error(number, message, flavour, "s").what());
  };
  const std::string silence =
      "Lost connection to server at 'handshake: reading initial communication packet', system error: 110";
  CHECK(what_of(2013, silence, connecting) == "the server did not answer in time");
  CHECK(what_of(2026, "TLS/SSL error: Connection timed out (110)", connecting) == "the server did not answer in time");
  CHECK(what_of(2013, "Lost connection to server during query", connecting) == "the connection to the server was lost");
  CHECK(what_of(2013, silence, mariadb) == "the connection to the server was lost");
  CHECK(what_of(3032, "The server is currently in offline mode", connecting) ==
        "the server is temporarily not accepting connections");
  CHECK(make_server_error(2013, silence, connecting, "s").error_class() == ErrorClass::not_connected);
}

TEST_CASE("errors that an operator can mend come with advice") {
  for (const int number : {1021, 1040, 1045, 1049, 1114, 1129, 1153, 1226, 1290, 2002, 2005, 2020, 2026}) {
    CAPTURE(number);
    const std::string hint = make_server_error(number, "", connecting, "s").hint();
    CHECK_FALSE(hint.empty());
    CHECK(test::is_worded_as_hint(hint));
  }
  CHECK(make_server_error(3, "Error writing file (Errcode: 28 \"No space left on device\")", mysql, "s")
            .hint()
            .find("disk") != std::string::npos);
  CHECK(make_server_error(1290, "--read-only", mysql, "s").hint().find("read_only") != std::string::npos);
}

TEST_CASE("a message never repeats a value or a statement") {
  const std::tuple<int, std::string, std::string> cases[] = {
      {1062, "Duplicate entry 'sec'ret for key x' for key 'PRIMARY'", "Duplicate entry ... for key 'PRIMARY'"},
      {1064, "You have an error near 'SELECT secret' at line 1", "You have an error near ..."},
      {1366, "Incorrect string value: 'secret' for column `d`.`t`.`c` at row 1",
       "Incorrect string value: ... for column `d`.`t`.`c` at row 1"},
      {1292, "Truncated incorrect DOUBLE value: 'secret'", "Truncated incorrect DOUBLE value: ..."},
      {1406, "Data too long for column 'c' at row 1", "Data too long for column 'c' at row 1"},
  };
  for (const auto& [number, message, expected] : cases) {
    CHECK(test::context_of(make_server_error(number, message, mysql, "s"), "message") == expected);
  }
}

TEST_CASE("control characters of a server's message are escaped") {
  const auto error = make_server_error(1105, "a\x1b[31mb\n", mysql, "s");
  CHECK(test::context_of(error, "message") == "a\\x1b[31mb\\x0a");
}

}  // namespace
}  // namespace looseleaf::sql

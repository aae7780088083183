// What a session sets and which servers it refuses.
#include "sql/session.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/errors.hpp"

namespace looseleaf::sql {
namespace {

Variables healthy(const Variables& changes = {}) {
  Variables variables = {{"version", "10.11.19-MariaDB-0+deb12u1"},
                         {"version_comment", "Debian 12"},
                         {"max_allowed_packet", "16777216"},
                         {"pseudo_thread_id", "42"},
                         {"read_only", "OFF"},
                         {"log_bin", "ON"},
                         {"binlog_format", "MIXED"},
                         {"sync_binlog", "1"},
                         {"innodb_flush_log_at_trx_commit", "1"},
                         {"wsrep_on", "OFF"}};
  for (const auto& [name, value] : changes) {
    variables[name] = value;
  }
  return variables;
}

TEST_CASE("flavour and version are told from the server's own words") {
  CHECK(session_facts(healthy()).flavour == Flavour::mariadb);
  CHECK(session_facts(healthy()).version == "MariaDB 10.11.19");
  const Variables mysql = healthy({{"version", "9.7.4-2"}, {"version_comment", "(Debian)"}});
  CHECK(session_facts(mysql).flavour == Flavour::mysql);
  CHECK(session_facts(mysql).version == "MySQL 9.7.4");
  const Variables renamed = healthy({{"version", "11.8.2-custom"}, {"version_comment", "mariadb.org binary"}});
  CHECK(session_facts(renamed).version == "MariaDB 11.8.2");
}

TEST_CASE("numbers of a session are read") {
  CHECK(session_facts(healthy()).max_allowed_packet == 16777216);
  CHECK(session_facts(healthy()).connection_id == 42);
}

TEST_CASE(
    "whether a server is read-only is asked as a number where it is one, and as a word where it has more than two") {
  CHECK(session_facts(healthy()).is_writable == "@@global.read_only = 0");
  CHECK(session_facts(healthy({{"version", "11.8.9-MariaDB"}})).is_writable == "@@global.read_only = 0");
  CHECK(session_facts(healthy({{"version", "12.1.2-MariaDB"}})).is_writable == "@@global.read_only IN ('0', 'OFF')");
  const Variables mysql = healthy({{"version", "26.1.0"}, {"version_comment", "(Debian)"}});
  CHECK(session_facts(mysql).is_writable == "@@global.read_only = 0");
}

TEST_CASE("a server that can lose what it acknowledged is warned about") {
  CHECK(session_facts(healthy()).warnings.empty());
  CHECK(session_facts(healthy({{"innodb_flush_log_at_trx_commit", "2"}})).warnings.size() == 1);
  CHECK(session_facts(healthy({{"sync_binlog", "0"}})).warnings.size() == 1);
  CHECK(session_facts(healthy({{"sync_binlog", "0"}, {"log_bin", "OFF"}})).warnings.empty());
}

TEST_CASE("a user whom read_only does not stop is warned about where failovers are possible") {
  const Variables privileged = {{"may_write_when_read_only", "SUPER"}};
  REQUIRE(session_facts(healthy(privileged)).warnings.size() == 1);
  CHECK(session_facts(healthy(privileged)).warnings.front().find("SUPER") != std::string::npos);
  Variables alone = privileged;
  alone["log_bin"] = "OFF";
  CHECK(session_facts(healthy(alone)).warnings.empty());
}

TEST_CASE("a healthy server is accepted") {
  CHECK_NOTHROW(check_server(healthy(), true, "s"));
}

TEST_CASE("servers on which the protocol cannot hold are refused for good") {
  const Variables cases[] = {
      {{"wsrep_on", "ON"}},
      {{"group_replication_single_primary_mode", "OFF"}},
      {{"group_replication_group_name", "a"}, {"group_replication_consistency", "EVENTUAL"}},
      {{"group_replication_group_name", "a"}, {"group_replication_consistency_default", "EVENTUAL"}},
      {{"version", "8.0.11-TiDB-v8.5.0"}},
      {{"version", "8.0.30-Vitess"}},
      {{"version_comment", "OceanBase 4.3"}},
      {{"binlog_format", "STATEMENT"}}};
  for (const Variables& change : cases) {
    CAPTURE(change.begin()->first);
    const auto error = test::error_of<ServerError>([&] { check_server(healthy(change), false, "s"); });
    CHECK(error.error_class() == ErrorClass::permanent);
    CHECK(error.code() == ErrorCode::server);
    CHECK_FALSE(error.hint().empty());
  }
}

TEST_CASE("a server that is too old is refused, and the hint names versions that will do") {
  for (const char* const version : {"10.5.29-MariaDB-0+deb11u1-log", "5.7.44"}) {
    CAPTURE(version);
    const auto error = test::error_of<ServerError>([&] { check_version(healthy({{"version", version}}), "s"); });
    CHECK(error.error_class() == ErrorClass::permanent);
    CHECK(error.hint() == "use MariaDB 10.6, MySQL 8.0, or a newer one");
  }
  for (const char* const version : {"10.6.0-MariaDB", "10.11.4-MariaDB", "8.0.11", "12.0.2-MariaDB"}) {
    CAPTURE(version);
    CHECK_NOTHROW(check_version(healthy({{"version", version}}), "s"));
  }
}

TEST_CASE("statement logging does not matter without a binlog") {
  CHECK_NOTHROW(check_server(healthy({{"binlog_format", "STATEMENT"}, {"log_bin", "OFF"}}), true, "s"));
}

TEST_CASE("a group with one primary is accepted") {
  CHECK_NOTHROW(check_server(healthy({{"group_replication_single_primary_mode", "ON"},
                                      {"group_replication_consistency", "BEFORE_ON_PRIMARY_FAILOVER"},
                                      {"group_replication_consistency_default", "BEFORE"}}),
                             true, "s"));
}

TEST_CASE("a read-only server is worth another try, and good enough for whoever only reads") {
  for (const Variables& change :
       {Variables{{"read_only", "ON"}}, Variables{{"super_read_only", "ON"}}, Variables{{"read_only", "NO_LOCK"}}}) {
    CHECK_NOTHROW(check_server(healthy(change), false, "s"));
    const auto error = test::error_of<ServerError>([&] { check_server(healthy(change), true, "s"); });
    CHECK(error.error_class() == ErrorClass::failing_over);
    CHECK(error.retryable());
  }
}

bool has(const std::string& sql, const std::string& part) {
  return sql.find(part) != std::string::npos;
}

TEST_CASE("read committed is set by the names that the server has") {
  const std::string old_names = session_setup(Flavour::mariadb, "10.11.19-MariaDB");
  CHECK(has(old_names, ",tx_isolation='READ-COMMITTED',tx_read_only=0"));
  const std::string new_names = session_setup(Flavour::mysql, "9.7.4");
  CHECK(has(new_names, ",transaction_isolation='READ-COMMITTED',transaction_read_only=0"));
}

TEST_CASE("snapshot isolation is switched off with the rest if every server of the version has it, else on its own") {
  for (const char* const version : {"11.6.2-MariaDB", "11.8.2-MariaDB-log", "12.0.1-MariaDB"}) {
    CHECK(has(session_setup(Flavour::mariadb, version), "innodb_snapshot_isolation=0"));
  }
  for (const char* const version : {"10.11.19-MariaDB", "11.4.2-MariaDB", "11.5-MariaDB", ""}) {
    CHECK_FALSE(has(session_setup(Flavour::mariadb, version), "innodb_snapshot_isolation"));
  }
  CHECK_FALSE(has(session_setup(Flavour::mysql, "26.7.0"), "innodb_snapshot_isolation"));
  CHECK(rest_of_setup(healthy()).empty());
  CHECK(rest_of_setup(healthy({{"innodb_snapshot_isolation", "OFF"}})).empty());
  CHECK(rest_of_setup(healthy({{"innodb_snapshot_isolation", "ON"}})) == "SET innodb_snapshot_isolation=0");
}

}  // namespace
}  // namespace looseleaf::sql

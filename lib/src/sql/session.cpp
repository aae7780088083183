// Session variables. They are read with SHOW VARIABLES, which does not fail if the server does not have a variable.
#include "sql/session.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace looseleaf::sql {
namespace {

constexpr auto asked = std::to_array<std::string_view>({
    "version",
    "version_comment",
    "max_allowed_packet",
    "pseudo_thread_id",  // CONNECTION_ID()
    "read_only",
    "super_read_only",
    "log_bin",
    "binlog_format",
    "sync_binlog",
    "innodb_flush_log_at_trx_commit",
    "innodb_snapshot_isolation",
    "transaction_isolation",
    "wsrep_on",
    "group_replication_single_primary_mode",
});

std::string_view value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string_view() : found->second;
}

// True for any value except the vendors' values for "off". MariaDB's read_only has more than two values.
bool is_on(const Variables& variables, const std::string& name) {
  const std::string_view value = value_of(variables, name);
  return !value.empty() && value != "OFF" && value != "0";
}

std::uint64_t number_of(const Variables& variables, const std::string& name) {
  const std::string_view text = value_of(variables, name);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Flavour flavour_of(const Variables& variables) {
  for (const char* const name : {"version", "version_comment"}) {
    const std::string_view text = value_of(variables, name);
    if (text.find("MariaDB") != std::string_view::npos || text.find("mariadb") != std::string_view::npos) {
      return Flavour::mariadb;
    }
  }
  return Flavour::mysql;
}

std::string version_of(const Variables& variables) {
  const std::string_view text = value_of(variables, "version");
  const std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
  return fmt::format("{} {}", flavour_of(variables) == Flavour::mariadb ? "MariaDB" : "MySQL", number);
}

// Since MariaDB 12 the value is a word, which would compare equal to 0. Where it is a number, comparing numbers saves
// the server 10 microseconds.
std::string is_writable(const Variables& variables) {
  constexpr std::uint64_t first_with_words = 12;
  const bool word = flavour_of(variables) == Flavour::mariadb && number_of(variables, "version") >= first_with_words;
  return word ? "@@global.read_only IN ('0', 'OFF')" : "@@global.read_only = 0";
}

std::vector<std::string> warnings_of(const Variables& variables) {
  std::vector<std::string> warnings;
  if (value_of(variables, "innodb_flush_log_at_trx_commit") != "1") {
    warnings.emplace_back("innodb_flush_log_at_trx_commit is not 1: a crash can lose acknowledged writes");
  }
  if (is_on(variables, "log_bin") && value_of(variables, "sync_binlog") != "1") {
    warnings.emplace_back("sync_binlog is not 1: a crash can leave replicas without acknowledged writes");
  }
  return warnings;
}

[[noreturn]] void reject(const std::string& what, const std::string& server, const std::string& hint) {
  throw ServerError(ErrorClass::permanent, 0, ErrorCode::server, what, {{"server", server}}, hint);
}

}  // namespace

std::string session_query() {
  return fmt::format("SHOW SESSION VARIABLES WHERE Variable_name IN ('{}')", fmt::join(asked, "','"));
}

SessionFacts session_facts(const Variables& variables) {
  return {flavour_of(variables),
          version_of(variables),
          number_of(variables, "max_allowed_packet"),
          number_of(variables, "pseudo_thread_id"),
          is_writable(variables),
          warnings_of(variables)};
}

// eq_range_index_dive_limit: without it the server plans a list of 200 ids or more by statistics. If they are outdated,
// the plan may read the whole table.
std::string session_setup() {
  return "SET autocommit=1,completion_type='NO_CHAIN',unique_checks=1,foreign_key_checks=1"
         ",sql_mode='STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION'"
         ",time_zone='+00:00',wait_timeout=30,interactive_timeout=30,net_read_timeout=30,net_write_timeout=30"
         ",innodb_lock_wait_timeout=2,lock_wait_timeout=2"
         ",eq_range_index_dive_limit=0,sql_select_limit=18446744073709551615,sql_safe_updates=0,sql_auto_is_null=0"
         ",NAMES utf8mb4 COLLATE utf8mb4_bin";
}

std::string session_isolation(const Variables& variables) {
  // MariaDB before 11.1 has only the old names, MySQL only the new ones.
  const bool new_names = variables.contains("transaction_isolation");
  std::string sql = fmt::format("SET {}='READ-COMMITTED',{}=0", new_names ? "transaction_isolation" : "tx_isolation",
                                new_names ? "transaction_read_only" : "tx_read_only");
  if (variables.contains("innodb_snapshot_isolation")) {
    sql += ",innodb_snapshot_isolation=0";
  }
  return sql;
}

void check_server(const Variables& variables, bool require_writable, const std::string& server) {
  if (is_on(variables, "wsrep_on")) {
    reject("the server is a node of a Galera cluster", server,
           "use plain replication, because locks are local to one Galera node");
  }
  if (value_of(variables, "group_replication_single_primary_mode") == "OFF") {
    reject("the server is set up for group replication with several primaries", server,
           "switch the group to single-primary mode");
  }
  if (is_on(variables, "log_bin") && value_of(variables, "binlog_format") == "STATEMENT") {
    reject("the server logs statements, which READ COMMITTED does not allow", server,
           "set binlog_format to ROW or MIXED on the server");
  }
  if (require_writable && (is_on(variables, "read_only") || is_on(variables, "super_read_only"))) {
    throw make_server_error(1290, "read_only is on", flavour_of(variables), server);
  }
}

}  // namespace looseleaf::sql

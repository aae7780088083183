// Session variables. They are read from the tables behind SHOW VARIABLES, because a statement that names a variable
// fails if the server does not have it.
#include "sql/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace looseleaf::sql {
namespace {

constexpr auto asked = std::to_array<std::string_view>({
    "version", "version_comment", "max_allowed_packet",
    "pseudo_thread_id",  // CONNECTION_ID()
    "read_only", "super_read_only", "log_bin", "binlog_format", "sync_binlog", "innodb_flush_log_at_trx_commit",
    "innodb_snapshot_isolation", "wsrep_on", "group_replication_single_primary_mode", "group_replication_consistency",
    "group_replication_group_name", "group_replication_consistency_default",  // that of new sessions
    "may_write_when_read_only",  // a privilege that lets the user do so, if it has one
});

// Servers that speak MySQL's protocol, by what their version or its comment says, and do not have its row locks.
constexpr auto others = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"tidb", "TiDB"},
    {"vitess", "Vitess"},
    {"planetscale", "PlanetScale"},
    {"oceanbase", "OceanBase"},
    {"singlestore", "SingleStore"},
    {"memsql", "SingleStore"},
    {"starrocks", "StarRocks"},
    {"doris", "Apache Doris"},
    {"matrixone", "MatrixOne"},
    {"dolt", "Dolt"},
    {"polardb-x", "PolarDB-X"},
    {"xpand", "Xpand"},
    {"clickhouse", "ClickHouse"},
    {"manticore", "Manticore"},
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
  const bool mariadb = greeted_flavour(value_of(variables, "version")) == Flavour::mariadb ||
                       greeted_flavour(value_of(variables, "version_comment")) == Flavour::mariadb;
  return mariadb ? Flavour::mariadb : Flavour::mysql;
}

std::string_view number_in(std::string_view version) {
  return version.substr(0, version.find_first_not_of("0123456789."));
}

std::string version_of(const Variables& variables) {
  const std::string_view number = number_in(value_of(variables, "version"));
  return fmt::format("{} {}", flavour_of(variables) == Flavour::mariadb ? "MariaDB" : "MySQL", number);
}

using Version = std::pair<unsigned, unsigned>;

// The first ones with SKIP LOCKED.
constexpr Version first_mariadb = {10, 6};
constexpr Version first_mysql = {8, 0};

Version parse_version(std::string_view version) {
  const std::string_view number = number_in(version);
  Version found = {0, 0};
  const char* const end = number.data() + number.size();
  const auto dot = std::from_chars(number.data(), end, found.first).ptr;
  if (dot != end) {
    std::from_chars(dot + 1, end, found.second);
  }
  return found;
}

// Returns true if every MariaDB of this version has innodb_snapshot_isolation. Patch releases of older versions got it
// too, but switched off.
bool has_snapshot_isolation(std::string_view version) {
  return parse_version(version) >= Version{11, 6};
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
  const std::string_view privilege = value_of(variables, "may_write_when_read_only");
  if (is_on(variables, "log_bin") && !privilege.empty()) {
    warnings.push_back(
        fmt::format("the user may write to a read-only server ({}): after a failover it could write to the old primary",
                    privilege));
  }
  return warnings;
}

// Returns the name of the product, or nothing if it is MySQL or MariaDB.
std::optional<std::string_view> other_product(const Variables& variables) {
  std::string text = fmt::format("{} {}", value_of(variables, "version"), value_of(variables, "version_comment"));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* const found = std::find_if(others.begin(), others.end(),
                                         [&](const auto& other) { return text.find(other.first) != text.npos; });
  return found == others.end() ? std::nullopt : std::optional(found->second);
}

[[noreturn]] void reject(const std::string& what, const std::string& server, const std::string& hint) {
  throw ServerError(ErrorClass::permanent, 0, ErrorCode::server, what, {{"server", server}}, hint);
}

}  // namespace

Flavour greeted_flavour(std::string_view version) {
  const bool mariadb =
      version.find("MariaDB") != std::string_view::npos || version.find("mariadb") != std::string_view::npos;
  return mariadb ? Flavour::mariadb : Flavour::mysql;
}

std::string session_query(Flavour flavour) {
  const bool mariadb = flavour == Flavour::mariadb;
  std::string sql = fmt::format(
      "SELECT LOWER(variable_name), CAST(variable_value AS BINARY) FROM {}.session_variables WHERE variable_name IN "
      "('{}')",
      mariadb ? "information_schema" : "performance_schema", fmt::join(asked, "','"));
  sql += fmt::format(
      " UNION ALL SELECT 'may_write_when_read_only', CAST(COALESCE(MIN(privilege_type), '') AS BINARY) FROM "
      "information_schema.user_privileges WHERE privilege_type IN ('{}') AND "
      "grantee = CONCAT('\\'', REPLACE(CURRENT_USER(), '@', '\\'@\\''), '\\'')",
      mariadb ? "READ_ONLY ADMIN" : "SUPER','CONNECTION_ADMIN");
  if (!mariadb) {
    sql +=
        " UNION ALL SELECT 'group_replication_consistency_default', CAST(variable_value AS BINARY) FROM "
        "performance_schema.global_variables WHERE variable_name = 'group_replication_consistency'";
  }
  return sql;
}

std::string session_show() {
  return fmt::format("SHOW SESSION VARIABLES WHERE Variable_name IN ('{}')", fmt::join(asked, "','"));
}

bool is_session_variable(std::string_view name) {
  return std::find(asked.begin(), asked.end(), name) != asked.end();
}

SessionFacts session_facts(const Variables& variables) {
  return {flavour_of(variables),
          version_of(variables),
          number_of(variables, "max_allowed_packet"),
          number_of(variables, "pseudo_thread_id"),
          is_writable(variables),
          warnings_of(variables)};
}

// sql_big_selects: without it, max_join_size of the server would forbid queries.
//
// max_sort_length: MariaDB compares no more bytes than that when it sorts. Rows whose strings begin alike would come in
// any order, and a query that reads in chunks would skip some. The longest key of an index has 3,072 bytes.
//
// in_predicate_conversion_threshold: MariaDB makes a temporary table of a list with more values.
//
// eq_range_index_dive_limit: without it the server plans a list of 200 ids or more by statistics. If they are outdated,
// the plan may read the whole table.
//
// optimizer_max_sel_arg_weight, range_optimizer_max_mem_size: with more values than about 30,000 the server would read
// the whole index for each chunk of a query. These limits are for as many as a statement can hold. Without a limit, a
// query with long lists for two properties would look up every combination of their values.
//
// information_schema_stats_expiry: without 0, MySQL answers from statistics that are up to a day old, and who reads
// them may have to write them first, which waits for the disk.
//
// Isolation: MariaDB before 11.1 has only the old names, MySQL only the new ones.
std::string session_setup(Flavour flavour, std::string_view version) {
  const bool mariadb = flavour == Flavour::mariadb;
  std::string sql =
      "SET autocommit=1,completion_type='NO_CHAIN',unique_checks=1,foreign_key_checks=1"
      ",sql_mode='STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION'"
      ",time_zone='+00:00',wait_timeout=30,interactive_timeout=30,net_read_timeout=30,net_write_timeout=30"
      ",innodb_lock_wait_timeout=2,lock_wait_timeout=2"
      ",eq_range_index_dive_limit=0,sql_select_limit=18446744073709551615,sql_safe_updates=0,sql_auto_is_null=0"
      ",sql_big_selects=1,max_sort_length=4096";
  sql += fmt::format(",{0}_isolation='READ-COMMITTED',{0}_read_only=0", mariadb ? "tx" : "transaction");
  sql += mariadb ? ",in_predicate_conversion_threshold=0,optimizer_max_sel_arg_weight=150000"
                 : ",information_schema_stats_expiry=0,range_optimizer_max_mem_size=67108864";
  if (mariadb && has_snapshot_isolation(version)) {
    sql += ",innodb_snapshot_isolation=0";
  }
  sql += ",NAMES utf8mb4 COLLATE utf8mb4_bin";
  return sql;
}

std::string rest_of_setup(const Variables& variables) {
  return is_on(variables, "innodb_snapshot_isolation") ? "SET innodb_snapshot_isolation=0" : "";
}

// A proxy may greet with another version than the server's.
void check_version(const Variables& variables, const std::string& server) {
  const Version first = flavour_of(variables) == Flavour::mariadb ? first_mariadb : first_mysql;
  if (parse_version(value_of(variables, "version")) < first) {
    reject("the server is too old", server, std::string(newer_server));
  }
}

void check_server(const Variables& variables, bool require_writable, const std::string& server) {
  if (const auto product = other_product(variables)) {
    reject(fmt::format("the server is {}, which does not have the locks of MySQL", *product), server,
           "use a MySQL or MariaDB server");
  }
  if (is_on(variables, "wsrep_on")) {
    reject("the server is a node of a Galera cluster", server,
           "use plain replication, because locks are local to one Galera node");
  }
  if (value_of(variables, "group_replication_single_primary_mode") == "OFF") {
    reject("the server is set up for group replication with several primaries", server,
           "switch the group to single-primary mode");
  }
  const bool in_group = !value_of(variables, "group_replication_group_name").empty();
  for (const char* consistency : {"group_replication_consistency", "group_replication_consistency_default"}) {
    if (in_group && value_of(variables, consistency) == "EVENTUAL") {
      reject("a new primary of the server's group answers before it has what the old one acknowledged", server,
             "set group_replication_consistency to BEFORE_ON_PRIMARY_FAILOVER on every member, with SET PERSIST");
    }
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

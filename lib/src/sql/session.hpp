// What a new session asks the server, what it sets, and which servers it does not accept. These functions have no side
// effects: they take and return text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sql/errors.hpp"

namespace looseleaf::sql {

// Values by name, as SHOW VARIABLES prints them. Variables that the server does not have are missing.
using Variables = std::map<std::string, std::string>;

struct SessionFacts {
  Flavour flavour = Flavour::mariadb;
  std::string version;  // "MariaDB 10.11.9", "MySQL 9.7.4"
  std::uint64_t max_allowed_packet = 0;
  std::uint64_t connection_id = 0;
  // SQL that is true unless the server is read-only.
  std::string is_writable;
  std::vector<std::string> warnings;
};

// Returns a SET statement for the variables that the protocol needs and every server has. It must be the first
// statement: on MySQL a server-wide sql_select_limit would even truncate SHOW VARIABLES.
[[nodiscard]] std::string session_setup();

// Returns a SHOW VARIABLES statement for all variables that the functions below use.
[[nodiscard]] std::string session_query();

[[nodiscard]] SessionFacts session_facts(const Variables& variables);

// Returns a SET statement for READ COMMITTED that uses the names that the server has.
[[nodiscard]] std::string session_isolation(const Variables& variables);

// Throws ServerError if the protocol cannot work on this server: read-only (if it has to be writable),
// binlog_format=STATEMENT, Galera, multi-primary group replication.
void check_server(const Variables& variables, bool require_writable, const std::string& server);

}  // namespace looseleaf::sql

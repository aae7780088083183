// What is asked of a server when a session begins, what is set, and what is refused. Pure: text in, text out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sql/errors.hpp"

namespace looseleaf::sql {

// Values by name, as SHOW VARIABLES prints them; a server leaves out what it does not have.
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

// One SET statement for all that the protocol relies on and every server has. It comes first: a server-wide
// sql_select_limit cuts even SHOW VARIABLES short on MySQL.
[[nodiscard]] std::string session_setup();

// A SHOW VARIABLES statement for all that the functions below look at.
[[nodiscard]] std::string session_query();

[[nodiscard]] SessionFacts session_facts(const Variables& variables);

// A SET statement for READ COMMITTED, by the names that the server has.
[[nodiscard]] std::string session_isolation(const Variables& variables);

// Throws ServerError if the protocol cannot work on this server: read-only (if it has to be writable),
// binlog_format=STATEMENT, Galera, multi-primary group replication.
void check_server(const Variables& variables, bool require_writable, const std::string& server);

}  // namespace looseleaf::sql

// What a new session asks the server, what it sets, and which servers it does not accept. These functions have no side
// effects: they take and return text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sql/errors.hpp"

namespace looseleaf::sql {

// Values by name, in SHOW VARIABLES' words. Variables that the server does not have are missing.
using Variables = std::map<std::string, std::string>;

struct SessionFacts {
  Flavour flavour = Flavour::mariadb;
  std::string version;                   // "MariaDB 10.11.9", "MySQL 9.7.4"
  std::uint64_t max_allowed_packet = 0;  // the server's limit in bytes
  std::uint64_t connection_id = 0;
  std::string is_writable;            // SQL that is true unless the server is read-only when it is evaluated
  std::vector<std::string> warnings;  // about settings and privileges; fixed texts
};

// Returns the flavour that the version in the server's greeting shows. A server may be configured to greet with another
// version, so this is a guess until session_facts() has read the server's variables.
[[nodiscard]] Flavour greeted_flavour(std::string_view version);

// Returns a SET statement for all variables that the protocol needs. It must be the first statement: on MySQL a
// server-wide sql_select_limit would even truncate the list of variables.
[[nodiscard]] std::string session_setup(Flavour flavour, std::string_view version);

// Returns a SELECT of names (in lower case) and values of all variables that the functions below use. It fails if the
// server has another flavour; session_show() does not, but no other SELECT can be appended to it.
[[nodiscard]] std::string session_query(Flavour flavour);
[[nodiscard]] std::string session_show();
// Returns true if the functions below use the variable.
[[nodiscard]] bool is_session_variable(std::string_view name);

[[nodiscard]] SessionFacts session_facts(const Variables& variables);

// Returns a SET statement for what session_setup() could not set, because not every server of its version has the
// variable. It is empty if nothing is left to set.
[[nodiscard]] std::string rest_of_setup(const Variables& variables);

inline constexpr std::string_view newer_server = "use MariaDB 10.6, MySQL 8.0, or a newer one";
// Throws ServerError if the server lacks what the program needs.
void check_version(const Variables& variables, const std::string& server);

// Throws ServerError if the protocol cannot work on this server: read-only (if it has to be writable),
// binlog_format=STATEMENT, Galera, multi-primary group replication.
void check_server(const Variables& variables, bool require_writable, const std::string& server);

}  // namespace looseleaf::sql

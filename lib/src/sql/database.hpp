// One database on a session.
#pragma once

#include <string>
#include <string_view>

#include "sql/connection.hpp"
#include "sql/literals.hpp"

namespace looseleaf::sql {

// Points to a session and says in which of its server's databases to work. Statements name their tables by table(), so
// one session can serve all databases of its server. Only DDL works in the database that the session has selected. The
// session outlives it.
class Database {
 public:
  Database(Connection& session, std::string name) : session_(&session), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  // Returns the quoted name of a table, with the database.
  [[nodiscard]] std::string table(std::string_view name) const { return qualified(name_, name); }

  // Selects the database for DDL. Replication filters go by the selected database.
  void select() const { session_->execute("USE " + quote_identifier(name_)); }

  Connection& operator*() const { return *session_; }
  Connection* operator->() const { return session_; }

 private:
  Connection* session_;
  std::string name_;
};

}  // namespace looseleaf::sql

// Says what server and client errors mean for a transaction (the table in docs/operations.md). Nothing else translates
// sql::SQLException.
#pragma once

#include <chrono>
#include <looseleaf/error.hpp>
#include <optional>
#include <string>

namespace looseleaf::sql {

enum class Flavour { mariadb, mysql };

enum class ErrorClass {
  conflict,          // the transaction was or must be rolled back: replay all of it
  not_connected,     // the server did not accept the connection: connect again
  unreachable,       // the server did not accept a connection until the deadline: do not wait for it again
  connection_lost,   // the outcome is unknown if a COMMIT or an autocommitted write was being executed
  statement_killed,  // the statement was killed or timed out: roll back and repeat
  failing_over,      // the server is read-only: connect again until one is writable
  duplicate_key,     // 1062
  table_gone,        // 1146
  too_large,         // 1153 or 2020: larger than max_allowed_packet
  permanent,         // a retry does not help
};

// An error of the server or the client library. Its context has the server, the code and the server's own message, with
// control characters escaped and quoted values left out. It never has a statement's text, so it contains no value and
// no body.
class ServerError : public Error {
 public:
  ServerError(ErrorClass error_class, int number, ErrorCode code, const std::string& what, Context context,
              std::string hint);
  ServerError(const ServerError&) = default;
  ServerError& operator=(const ServerError&) = default;
  ~ServerError() override;

  [[nodiscard]] ErrorClass error_class() const { return class_; }
  // Returns the vendor's error number, or 0 if the failure was detected by looseleaf.
  [[nodiscard]] int number() const { return number_; }
  // True if a replay of the whole transaction may succeed, on a new connection if the old one is broken.
  [[nodiscard]] bool retryable() const;
  // True if the server refuses this user or this host, whatever the database. Servers lock accounts and hosts that try
  // again and again.
  [[nodiscard]] bool refuses_login() const;

 private:
  ErrorClass class_;
  int number_;
};

// Classifies an error by number, message and flavour. Without a flavour the session was not set up yet, so no work can
// be lost with it. Has no side effects.
[[nodiscard]] ErrorClass classify(int number, const std::string& message, std::optional<Flavour> flavour);

// Returns the error of a statement that was cut off because it took as long as the program waits for one, `waited`.
[[nodiscard]] ServerError after_waiting(const ServerError& lost, std::chrono::milliseconds waited);

// Makes the error with class, code, text, context and hint. `server` is its address. Has no side effects.
[[nodiscard]] ServerError make_server_error(int number, const std::string& message, std::optional<Flavour> flavour,
                                            const std::string& server);

}  // namespace looseleaf::sql

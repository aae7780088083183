// What server and client errors mean for a transaction (the table in docs/operations.md); the only translation of
// sql::SQLException.
#pragma once

#include <looseleaf/error.hpp>
#include <optional>
#include <string>

namespace looseleaf::sql {

enum class Flavour { mariadb, mysql };

enum class ErrorClass {
  conflict,          // rolled back, or to be rolled back: replay the whole transaction
  refused,           // refused before any work: try to connect again
  unreachable,       // refused until the deadline: not to be waited for again
  connection_lost,   // the outcome is unknown if a COMMIT or an autocommitted write was in flight
  statement_killed,  // killed or timed out: roll back and repeat
  failing_over,      // read-only: connect anew, until the server is writable
  duplicate_key,     // 1062
  table_gone,        // 1146
  too_large,         // 1153, 2020: beyond max_allowed_packet
  permanent,         // no retry
};

// A server or client library error. Its context has server, code and the server's own message (control characters
// escaped, quoted values left out), never a statement's text, so no value and no body.
class ServerError : public Error {
 public:
  ServerError(ErrorClass error_class, int number, ErrorCode code, const std::string& what, Context context,
              std::string hint);
  ServerError(const ServerError&) = default;
  ServerError& operator=(const ServerError&) = default;
  ~ServerError() override;

  [[nodiscard]] ErrorClass error_class() const { return class_; }
  // The vendors' error number; 0 if the failure was found on this side.
  [[nodiscard]] int number() const { return number_; }
  // True for what a replay of the whole transaction, on a new connection if the old one is broken, may cure.
  [[nodiscard]] bool retryable() const;

 private:
  ErrorClass class_;
  int number_;
};

// Classifies by number, message and flavour; without a flavour the connection was not up yet, so that nothing is lost
// with it. Pure.
[[nodiscard]] ErrorClass classify(int number, const std::string& message, std::optional<Flavour> flavour);

// The whole translation: class, code, sentence, context and hint. `server` is its address. Pure.
[[nodiscard]] ServerError make_server_error(int number, const std::string& message, std::optional<Flavour> flavour,
                                            const std::string& server);

}  // namespace looseleaf::sql

// One session on one server, set up as the protocol requires.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/cluster.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/errors.hpp"
#include "sql/result.hpp"
#include "sql/session.hpp"
#include "sql/statement.hpp"

namespace looseleaf::sql {

// All settings of a connection, merged from option files and explicit options (see connection_settings.hpp).
struct ConnectOptions {
  Address address;
  std::string user, password;
  bool password_given = false;
  std::string database;  // empty: no database is selected
  TlsSettings tls;       // the mode is always set; with Connector/C++ 1.1 verify-ca also checks the host name
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  std::chrono::milliseconds read_timeout = std::chrono::seconds(30);  // also the write timeout
  bool require_writable = true;                                       // throw if the server is read-only
  // A SELECT of two columns, a name and a value. It is sent together with the SELECT of the session's variables, so it
  // costs no round trip; see Connection::take_first_rows().
  std::string first_query;
};

class Rehearsal;

// For one thread at a time. All members throw ServerError. After a connection_lost or failing_over error the connection
// is broken() and can only be destroyed.
class Connection {
 public:
  // Connects, checks that TLS is used where it is required, and sets the session up. Throws if the protocol cannot work
  // on the server: it is read-only, binlog_format is STATEMENT, Galera or group replication has several writers.
  explicit Connection(const ConnectOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] Result query(const std::string& sql);
  // Runs a statement that may be repeated often in this session. When its shape comes for the second time, it is
  // prepared, if the server allows that, so that the server need not parse it again.
  [[nodiscard]] Result query(const Statement& statement);
  // Returns the number of changed rows. An ON DUPLICATE KEY UPDATE that changes nothing counts 0, because
  // CLIENT_FOUND_ROWS is not set.
  std::uint64_t execute(const std::string& sql);

  // Begins a transaction with the next statement, in one packet, so that it costs no round trip. If that statement
  // fails, the transaction may have begun. Until then, commit() and roll_back() have nothing to end. Use Transaction.
  void begin();
  // Sends COMMIT as a statement, because the connector's commit() ignores failures. A connection_lost error here means
  // that the outcome is unknown.
  void commit();
  void roll_back();

  // Lets the session take part in a rehearsal (sql/rehearsal.hpp), which outlives its use, instead of changing or
  // locking anything. `place` tells its statements from those of other sessions.
  void rehearse(Rehearsal& rehearsal, std::uint32_t place);
  // In a rehearsal, `query` has this answer from now on. Otherwise this does nothing.
  void pretend(const std::string& query, const std::function<Result()>& answer);

  // Returns the rows of ConnectOptions::first_query, once. There are none if its tables or its database are missing.
  [[nodiscard]] NamedTexts take_first_rows();

  [[nodiscard]] bool broken() const;
  // Marks a session whose state is no longer known as broken.
  void mark_broken() noexcept;
  // Returns the time since the last statement ended.
  [[nodiscard]] std::chrono::steady_clock::duration idle_for() const;
  // What was found when connecting.
  [[nodiscard]] const SessionFacts& facts() const;
  // True once note_changes_are_counted() was called: the server was seen to count the rows that a statement changed,
  // and not those that it found.
  [[nodiscard]] bool changes_are_counted() const;
  void note_changes_are_counted();
  [[nodiscard]] const Address& address() const;
  // Returns by how many seconds this server is behind its source, as it reports itself; the maximum if it has several
  // sources. Absent if it does not replicate, or replication has stopped. Needs the privilege REPLICATION CLIENT
  // (MySQL) or REPLICA MONITOR (MariaDB).
  [[nodiscard]] std::optional<std::uint64_t> replication_lag();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace looseleaf::sql

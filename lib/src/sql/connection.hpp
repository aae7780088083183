// One session on one server, with everything set that the protocol relies on.
#pragma once

#include <chrono>
#include <cstdint>
#include <looseleaf/cluster.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/errors.hpp"
#include "sql/statement.hpp"

namespace looseleaf::sql {

// Everything a connection needs, after option files and explicit options were merged (see option_files.hpp).
struct ConnectOptions {
  Address address;
  std::string user, password;
  bool password_given = false;
  std::string database;  // empty: none selected
  TlsSettings tls;       // mode always set; with Connector/C++ 1.1 verify-ca checks the host name too
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  std::chrono::milliseconds read_timeout = std::chrono::seconds(30);  // also write
  bool require_writable = true;                                       // refuse a read-only server
};

// The rows of a SELECT, fetched whole (so keep them bounded by LIMIT): a lost connection is an error, never an early
// end.
class Result {
 public:
  Result(std::vector<std::optional<std::string>> cells, std::size_t columns)
      : cells_(std::move(cells)), columns_(columns) {}

  [[nodiscard]] std::size_t size() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  [[nodiscard]] bool empty() const { return cells_.empty(); }
  // Absent for NULL. BINARY and BLOB values are their bytes, everything else the server's text.
  [[nodiscard]] const std::optional<std::string>& cell(std::size_t row, std::size_t column) const {
    return cells_.at(row * columns_ + column);
  }
  // The same for columns that are NOT NULL; throws Error(corrupt) on NULL.
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::uint64_t unsigned_integer(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::int64_t integer(std::size_t row, std::size_t column) const;
  // Moves a cell out.
  [[nodiscard]] std::string take(std::size_t row, std::size_t column);

 private:
  std::vector<std::optional<std::string>> cells_;
  std::size_t columns_;
};

// Used by one thread at a time. All members throw ServerError; after a connection_lost or failing_over error the
// connection is broken() and only good for destruction.
class Connection {
 public:
  // Connects, asserts TLS where it is required, sets the session up, checks what the protocol cannot live without
  // (not read-only, binlog_format, Galera with several writers, multi-primary group replication).
  explicit Connection(const ConnectOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] Result query(const std::string& sql);
  // The same of a statement that may come often in this session: it is prepared when its shape comes for the second
  // time, if the server lets it be, which spares the server reading it again.
  [[nodiscard]] Result query(const Statement& statement);
  // Rows affected: without CLIENT_FOUND_ROWS, so ON DUPLICATE KEY UPDATE that changes nothing counts 0.
  std::uint64_t execute(const std::string& sql);

  // Sends COMMIT as a statement (the connector's own commit() swallows failures).
  // A connection_lost here means that the outcome is unknown.
  void commit();

  [[nodiscard]] bool broken() const;
  // For a session whose state is no longer known.
  void mark_broken() noexcept;
  // Since the last statement ended.
  [[nodiscard]] std::chrono::steady_clock::duration idle_for() const;
  [[nodiscard]] Flavour flavour() const;
  [[nodiscard]] const std::string& server_version() const;  // "MariaDB 10.11.9", "MySQL 9.7.4"
  [[nodiscard]] std::uint64_t max_allowed_packet() const;   // bytes, the server's
  [[nodiscard]] std::uint64_t id() const;                   // CONNECTION_ID()
  // SQL that is true unless the server is read-only at that moment.
  [[nodiscard]] const std::string& is_writable() const;
  // What the operator should know: durability settings, found at connect. Static sentences.
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  [[nodiscard]] const Address& address() const;
  // By how many seconds this server is behind the one it replicates from, by its own account (of several the most);
  // absent if it does not replicate, or has stopped to. Needs the privilege REPLICATION CLIENT (MySQL) or REPLICA
  // MONITOR (MariaDB).
  [[nodiscard]] std::optional<std::uint64_t> replication_lag();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace looseleaf::sql

// A transaction that is rolled back unless it was committed. It begins with its first statement.
#pragma once

#include "sql/database.hpp"

namespace looseleaf::sql {

class Transaction {
 public:
  explicit Transaction(Connection& connection);
  explicit Transaction(const Database& database) : Transaction(*database) {}
  // Rolls back, and marks the connection broken if that fails; never throws.
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // May be called once. If it fails, the transaction is still open and must be rolled back. If the connection is
  // broken, the outcome is unknown.
  void commit();
  // Rolls back now, for work that must happen outside the transaction. Never throws. Does nothing if the transaction
  // has ended.
  void roll_back() noexcept;

 private:
  Connection* connection_;  // null after the transaction has ended
};

}  // namespace looseleaf::sql

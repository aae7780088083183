// A transaction that is rolled back unless it was committed.
#pragma once

#include "sql/connection.hpp"

namespace looseleaf::sql {

class Transaction {
 public:
  explicit Transaction(Connection& connection);
  // Rolls back, and marks the connection broken if that fails; never throws.
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // May be called once. On failure the transaction is still open, to be rolled back, unless the connection is broken:
  // then the outcome is unknown.
  void commit();
  // Ends the transaction now, for work that must happen outside it; throws nothing, and does nothing once it has ended.
  void roll_back() noexcept;

 private:
  Connection* connection_;  // null once it has ended
};

}  // namespace looseleaf::sql

// Begins, commits and rolls back transactions.
#include "sql/transaction.hpp"

namespace looseleaf::sql {

Transaction::Transaction(Connection& connection) : connection_(&connection) {
  connection.begin();
}

Transaction::~Transaction() {
  roll_back();
}

void Transaction::commit() {
  connection_->commit();
  connection_ = nullptr;
}

void Transaction::roll_back() noexcept {
  Connection* const connection = connection_;
  connection_ = nullptr;
  if (connection == nullptr || connection->broken()) {
    return;  // the server rolls back by itself when a connection is lost or closed
  }
  try {
    connection->roll_back();
  } catch (const std::exception&) {
    connection->mark_broken();
  }
}

}  // namespace looseleaf::sql

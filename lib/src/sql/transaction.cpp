// Begin, commit, and the rollback that happens whatever else does.
#include "sql/transaction.hpp"

namespace looseleaf::sql {

Transaction::Transaction(Connection& connection) : connection_(&connection) {
  connection.execute("START TRANSACTION");
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
    return;  // a server rolls back by itself what a lost or closed connection left open
  }
  try {
    connection->execute("ROLLBACK");
  } catch (const std::exception&) {
    connection->mark_broken();
  }
}

}  // namespace looseleaf::sql

// Locks that another session holds.
#pragma once

#include <cstdint>
#include <string>

#include "shard/shards.hpp"
#include "sql/transaction.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {

inline constexpr const char* lock_of_fence = "SELECT * FROM looseleaf_shard FOR UPDATE";

// Runs a statement in a session of its own and holds its transaction open for a while.
class LockHolder {
 public:
  LockHolder(const StoreFixture& fixture, std::uint32_t shard, const std::string& statement)
      : shards_(fixture.shards()), lease_(shards_.connect(shard, shards_.deadline())), transaction_(*lease_) {
    (*lease_).select();
    static_cast<void>(lease_->query(statement));
  }
  void execute(const std::string& statement) { lease_->execute(statement); }
  [[nodiscard]] std::uint64_t id() const { return lease_->facts().connection_id; }
  void release() { transaction_.roll_back(); }

 private:
  shard::Shards shards_;
  shard::Lease lease_;
  sql::Transaction transaction_;
};

}  // namespace looseleaf::test

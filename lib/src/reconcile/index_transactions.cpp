// Changes index rows on several shards while the entities' locks are held.
#include "reconcile/index_transactions.hpp"

#include <set>
#include <utility>

#include "shard/index_rows.hpp"
#include "shard/steps.hpp"

namespace looseleaf::reconcile {
namespace {

using shard::Step;
namespace steps = shard::steps;

}  // namespace

std::vector<shard::BlockedRow> IndexTransactions::apply(const shard::RowsByShard& deletes,
                                                        const shard::RowsByShard& inserts) {
  std::set<std::uint32_t> touched;
  for (const auto& [shard, rows] : deletes) {
    touched.insert(shard);
  }
  for (const auto& [shard, rows] : inserts) {
    touched.insert(shard);
  }
  for (const std::uint32_t shard : touched) {  // in ascending order
    auto blocked = shard::on_shard(shards_, shard, [&] { return apply_on(shard, deletes, inserts); });
    if (!blocked.empty()) {
      return blocked;
    }
  }
  return {};
}

void IndexTransactions::commit() {
  for (auto& [server, open] : open_) {
    shard::on_shard(shards_, open.shard, [&, &open = open] {
      const Step step(steps::reconcile_commit, open.shard);
      open.transaction->commit();
    });
  }
}

std::vector<shard::BlockedRow> IndexTransactions::apply_on(std::uint32_t shard, const shard::RowsByShard& deletes,
                                                           const shard::RowsByShard& inserts) {
  const Step step(steps::reconcile_change_index_rows, shard);
  const sql::Database database = leases_.on(shard);
  auto& [first, transaction] = open_[leases_.server_of(shard)];
  if (!transaction) {
    first = shard;
    transaction = std::make_unique<sql::Transaction>(database);
  }
  if (const auto rows = deletes.find(shard); rows != deletes.end()) {
    for (const auto& [index, entries] : rows->second) {
      shard::delete_entries(database, catalog_.indexes[index].definition, entries);
    }
  }
  if (const auto rows = inserts.find(shard); rows != inserts.end()) {
    for (const auto& [index, entries] : rows->second) {
      shard::Inserted inserted =
          shard::insert_or_report(database, catalog_.indexes[index].definition, shard, index, entries);
      if (!inserted.blocked.empty()) {
        return std::move(inserted.blocked);
      }
    }
  }
  return {};
}

void prove(sql::Transaction& entity_transaction, std::uint32_t entity_shard, const std::function<void()>& write) {
  const Step step(steps::reconcile_prove, entity_shard);
  if (!step.left_out()) {
    write();
    entity_transaction.commit();
  }
}

}  // namespace looseleaf::reconcile

// Inserts the index rows of a batch.
#include "write/index_inserts.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "base/parallel.hpp"
#include "shard/durability.hpp"
#include "shard/placed_rows.hpp"
#include "shard/steps.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::write {
namespace {

using shard::Step;
namespace steps = shard::steps;

// The rows of one batch for the shards of one server.
class ServerInserts {
 public:
  // `shards_here` are sorted. The rows are sorted by run().
  ServerInserts(const shard::Shards& shards, const shard::ServerLeases& leases, const shard::Catalog& catalog,
                std::vector<std::uint32_t> shards_here, shard::RowsByShard& rows, const std::set<std::uint32_t>& new_on)
      : shards_(shards),
        leases_(leases),
        catalog_(catalog),
        shards_here_(std::move(shards_here)),
        rows_(rows),
        new_on_(new_on) {}

  void run() {
    try {
      insert_all();
    } catch (const sql::ServerError& error) {
      const bool only_here = at_ && !leases_.on(*at_)->broken();
      const auto index = only_here && !error.retryable() ? at_index_ : std::nullopt;
      for (const std::uint32_t shard : only_here ? std::vector{*at_} : shards_here_) {
        result.failures.push_back({shard, index, error});
      }
    }
  }

  InsertedRows result = {};

 private:
  void insert_all() {
    const bool one_statement = shards_here_.size() == 1 && rows_.at(shards_here_.front()).size() == 1;
    std::optional<sql::Transaction> transaction;
    if (!one_statement) {
      shard::on_shard(shards_, shards_here_.front(), [&] { transaction.emplace(leases_.on(shards_here_.front())); });
    }
    std::optional<std::uint32_t> relies_on;  // a shard where rows were found that may not be on disk yet
    for (const std::uint32_t shard : shards_here_) {
      at_ = shard;
      at_index_.reset();
      const bool all_new = shard::on_shard(shards_, shard, [&] { return insert_on(leases_.on(shard), shard); });
      if (!all_new && new_on_.contains(shard)) {
        relies_on = shard;
      }
    }
    at_.reset();
    shard::on_shard(shards_, shards_here_.front(), [&] {
      if (transaction) {
        transaction->commit();
      }
      if (relies_on) {
        const Step step(steps::put_make_durable, *relies_on);
        if (!step.left_out()) {
          shard::make_durable(leases_.on(*relies_on), *relies_on);
        }
      }
    });
  }

  // Returns false if some rows existed.
  bool insert_on(const sql::Database& database, std::uint32_t shard) {
    bool all_new = true;
    for (auto& [index, entries] : rows_.at(shard)) {
      const Step step(steps::put_insert_index_rows, shard);
      if (step.left_out()) {
        continue;
      }
      std::sort(entries.begin(), entries.end());
      at_index_ = index;
      const shard::Inserted inserted =
          shard::insert_or_report(database, catalog_.indexes[index].definition, shard, index, entries);
      result.blocked.insert(result.blocked.end(), inserted.blocked.begin(), inserted.blocked.end());
      all_new = all_new && inserted.all_new;
    }
    return all_new;
  }

  const shard::Shards& shards_;
  const shard::ServerLeases& leases_;
  const shard::Catalog& catalog_;
  const std::vector<std::uint32_t> shards_here_;
  shard::RowsByShard& rows_;
  const std::set<std::uint32_t>& new_on_;
  std::optional<std::uint32_t> at_;      // the shard whose rows are being inserted
  std::optional<std::size_t> at_index_;  // their index
};

}  // namespace

InsertedRows insert_index_rows(const shard::Shards& shards, const shard::ServerLeases& leases,
                               const shard::Catalog& catalog, const Items& items,
                               const std::function<void()>& meanwhile) {
  shard::RowsByShard rows;
  std::set<std::uint32_t> needed;
  // The rows that the old bodies call for are already durable, because they were on disk before those bodies were
  // committed. Other rows may be present but not durable, because another put inserted them and has not yet received
  // the server's answer.
  std::set<std::uint32_t> new_on;
  for (const Item* item : items) {
    for (const shard::PlacedRow& row : item->rows) {
      shard::add_row(rows, row);
      needed.insert(row.shard);
    }
    new_on.insert(item->new_on.begin(), item->new_on.end());
  }
  std::vector<ServerInserts> inserts;
  for (auto& group : leases.by_server(needed)) {
    inserts.emplace_back(shards, leases, catalog, std::move(group), rows, new_on);
  }
  std::vector<std::function<void()>> tasks;  // the first one runs on this thread
  if (meanwhile) {
    tasks.push_back(meanwhile);
  }
  for (ServerInserts& on_server : inserts) {
    tasks.emplace_back([&on_server] { on_server.run(); });
  }
  base::run_all(tasks);
  InsertedRows all;
  for (ServerInserts& on_server : inserts) {
    std::move(on_server.result.failures.begin(), on_server.result.failures.end(), std::back_inserter(all.failures));
    std::move(on_server.result.blocked.begin(), on_server.result.blocked.end(), std::back_inserter(all.blocked));
  }
  return all;
}

}  // namespace looseleaf::write

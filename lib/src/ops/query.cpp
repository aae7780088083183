// Queries: index rows of one shard or of all in one order, then the entities, which have the last word.
#include "ops/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>

#include "base/parallel.hpp"
#include "model/entity.hpp"
#include "ops/get.hpp"
#include "ops/index_tables.hpp"
#include "ops/query_plan.hpp"
#include "sql/literals.hpp"
#include "store/steps.hpp"

namespace looseleaf::ops {
namespace {

using store::Step;
namespace steps = store::steps;

constexpr std::size_t first_chunk = 100, largest_chunk = 1000;  // index rows, and so entities, in memory at once

Error not_ready(const std::string& table, IndexState state) {
  if (state == IndexState::building) {
    return {ErrorCode::bad_index,
            "index is still building",
            {{"index", table}},
            fmt::format("run `looseleaf backfill {}`, or wait until it is done", table)};
  }
  return {ErrorCode::bad_index,
          "index is being dropped",
          {{"index", table}},
          fmt::format("`looseleaf drop-index {}` finishes that", table)};
}

// The matching index rows of one shard, in the order of the query.
class ShardRows {
 public:
  ShardRows(store::Shards& shards, std::uint32_t shard, const store::CatalogIndex& index, const QueryPlan& plan)
      : shards_(shards), shard_(shard), index_(index), plan_(plan) {}

  [[nodiscard]] bool needs_more() const { return rows_.empty() && !ended_; }
  [[nodiscard]] const store::IndexEntry* head() const { return rows_.empty() ? nullptr : &rows_.front(); }

  store::IndexEntry take() {
    store::IndexEntry entry = std::move(rows_.front());
    rows_.pop_front();
    return entry;
  }

  void read() {
    auto entries = store::with_shard(shards_, shard_, shards_.deadline(), [&](sql::Connection& connection) {
      try {
        auto found = select(connection);
        check_state(connection);
        return found;
      } catch (const sql::ServerError& error) {
        if (error.error_class() == sql::ErrorClass::table_gone) {
          check_state(connection);
        }
        throw;
      }
    });
    ended_ = entries.size() < chunk_;
    if (!entries.empty()) {
      last_ = entries.back();
    }
    std::move(entries.begin(), entries.end(), std::back_inserter(rows_));
    chunk_ = std::min(largest_chunk, chunk_ * 2);
  }

 private:
  std::vector<store::IndexEntry> select(sql::Connection& connection) const {
    const Step step(steps::query_read_index_rows, shard_);
    return store::to_entries(index_.definition, connection.query(plan_.select(last_, chunk_)));
  }

  // After the rows were read: if the index is ready now it was then, for a drop says so on every shard before the first
  // writer stops maintaining it.
  void check_state(sql::Connection& connection) const {
    const Step step(steps::query_check_index, shard_);
    const std::string& table = index_.definition.table;
    const sql::Result found = connection.query(
        fmt::format("SELECT generation, state FROM looseleaf_index WHERE table_name = {}", sql::text_literal(table)));
    if (found.empty() || found.unsigned_integer(0, 0) != index_.generation) {
      throw Error(ErrorCode::bad_index, "index was dropped meanwhile", {{"index", table}});
    }
    const IndexState state = store::parse_index_state(found.text(0, 1));
    if (state != IndexState::ready) {
      throw not_ready(table, state);
    }
  }

  store::Shards& shards_;
  const std::uint32_t shard_;
  const store::CatalogIndex& index_;
  const QueryPlan& plan_;
  std::deque<store::IndexEntry> rows_;
  std::optional<store::IndexEntry> last_;
  std::size_t chunk_ = first_chunk;
  bool ended_ = false;
};

class Run {
 public:
  Run(store::Shards& shards, const store::CatalogIndex& index, const Query& query)
      : shards_(shards), query_(query), plan_(index.definition, query) {
    const auto only = plan_.only_shard(shards.count());
    for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
      if (!only || *only == shard) {
        streams_.emplace_back(shards, shard, index, plan_);
      }
    }
  }

  QueryReport run(const std::function<bool(const Entity&)>& on_entity) {
    while (true) {
      const std::vector<store::IndexEntry> entries = next_batch();
      if (entries.empty() || !give(entries, on_entity)) {
        return report_;
      }
    }
  }

 private:
  // Merges the shards' rows.
  std::vector<store::IndexEntry> next_batch() {
    std::vector<store::IndexEntry> batch;
    while (batch.size() < batch_size_) {
      if (std::any_of(streams_.begin(), streams_.end(), [](const ShardRows& stream) { return stream.needs_more(); })) {
        if (!batch.empty()) {
          break;  // give what is there before waiting for more
        }
        read_more();
      }
      ShardRows* first = nullptr;
      for (ShardRows& stream : streams_) {
        if (stream.head() && (!first || plan_.before(*stream.head(), *first->head()))) {
          first = &stream;
        }
      }
      if (!first) {
        break;
      }
      batch.push_back(first->take());
    }
    batch_size_ = std::min(largest_chunk, batch_size_ * 2);
    report_.index_rows += batch.size();
    return batch;
  }

  void read_more() {
    std::vector<std::function<void()>> tasks;
    for (ShardRows& stream : streams_) {
      if (stream.needs_more()) {
        tasks.emplace_back([&stream] { stream.read(); });
      }
    }
    base::run_all(tasks);
  }

  // False when the caller wants no more.
  bool give(const std::vector<store::IndexEntry>& entries, const std::function<bool(const Entity&)>& on_entity) {
    std::vector<Uuid> ids;
    for (const auto& entry : entries) {
      ids.push_back(entry.entity_id);
    }
    const auto entities = read_entities(ids);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!entities[i] || !plan_.gives(entries[i], model::parse_stored(entities[i]->json))) {
        ++report_.filtered_stale;
        continue;
      }
      ++report_.entities;
      if (!on_entity(*entities[i]) || report_.entities == query_.limit) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::vector<std::optional<Entity>> read_entities(const std::vector<Uuid>& ids) const {
    const Step step(steps::query_read_entities, 0);
    return get(shards_, ids);
  }

  store::Shards& shards_;
  const Query& query_;
  const QueryPlan plan_;
  std::deque<ShardRows> streams_;
  std::size_t batch_size_ = first_chunk;
  QueryReport report_;
};

}  // namespace

QueryReport query(store::Shards& shards, const Query& query, const std::function<bool(const Entity&)>& on_entity) {
  const base::Deadline deadline = shards.deadline();
  // Definitions are the same on every shard; whether the index is ready is checked on each that is read.
  std::shared_ptr<const store::Catalog> catalog;
  const store::CatalogIndex* index = nullptr;
  for (std::uint32_t shard = 0; shard < shards.count() && !index; ++shard) {
    catalog = store::with_shard(shards, shard, deadline,
                                [&](sql::Connection& connection) { return shards.reload_catalog(shard, connection); });
    index = catalog->find(query.index);
  }
  if (!index) {
    throw no_such_index(shards, query.index, deadline);
  }
  if (index->state != IndexState::ready) {
    throw not_ready(query.index, index->state);
  }
  return Run(shards, *index, query).run(on_entity);
}

}  // namespace looseleaf::ops

// A merge join, by entity id, of every shard's entities with every index table of every shard.
#include "ops/walk.hpp"

#include <algorithm>
#include <deque>
#include <memory>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "ops/rows.hpp"
#include "store/entity_rows.hpp"
#include "store/placement.hpp"

namespace looseleaf::ops {
namespace {

constexpr std::size_t entity_chunk = 200;  // rows in memory of one shard's entities
constexpr std::size_t entry_chunk = 2000;  // and of one index table

// Rows of one table of one shard in order of entity id, read in chunks.
template <typename Row>
class Stream {
 public:
  using Read = std::function<std::vector<Row>(sql::Connection&, const std::optional<Row>& after)>;

  Stream(store::Shards& shards, std::uint32_t shard, Read read)
      : shards_(shards), shard_(shard), read_(std::move(read)) {}

  // Null at the end.
  const Row* head() {
    if (rows_.empty() && !ended_) {
      auto rows = store::with_shard(shards_, shard_, shards_.deadline(),
                                    [&](sql::Connection& connection) { return read_(connection, last_); });
      ended_ = rows.empty();
      if (!rows.empty()) {
        last_ = rows.back();
      }
      std::move(rows.begin(), rows.end(), std::back_inserter(rows_));
    }
    return rows_.empty() ? nullptr : &rows_.front();
  }

  Row take() {
    Row row = std::move(rows_.front());
    rows_.pop_front();
    return row;
  }

  [[nodiscard]] std::uint32_t shard() const { return shard_; }

 private:
  store::Shards& shards_;
  const std::uint32_t shard_;
  const Read read_;
  std::deque<Row> rows_;
  std::optional<Row> last_;
  bool ended_ = false;
};

using EntityStream = Stream<store::EntityRow>;
using EntryStream = Stream<store::IndexEntry>;

class Walk {
 public:
  Walk(store::Shards& shards, const std::vector<store::CatalogIndex>& indexes, const WalkVisitor& visitor)
      : shards_(shards), visitor_(visitor) {
    catalog_.indexes = indexes;
    for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
      entities_.emplace_back(
          shards, shard, [](sql::Connection& connection, const std::optional<store::EntityRow>& after) {
            return store::read_after(connection, after ? std::optional(after->id) : std::nullopt, entity_chunk);
          });
      for (std::size_t index = 0; index < indexes.size(); ++index) {
        const IndexDefinition& definition = catalog_.indexes[index].definition;
        entries_.emplace_back(
            index, std::make_unique<EntryStream>(
                       shards, shard,
                       [&definition](sql::Connection& connection, const std::optional<store::IndexEntry>& after) {
                         return store::read_entries_after(connection, definition, after, entry_chunk);
                       }));
        counts_.rows[{definition.table, shard}] = 0;
      }
    }
  }

  WalkCounts run() {
    while (const auto id = lowest_id()) {
      visit(*id);
    }
    return std::move(counts_);
  }

 private:
  std::optional<Uuid> lowest_id() {
    std::optional<Uuid> lowest;
    const auto consider = [&](const Uuid& id) { lowest = lowest ? std::min(*lowest, id) : id; };
    for (EntityStream& stream : entities_) {
      if (const auto* row = stream.head()) {
        consider(row->id);
      }
    }
    for (auto& [index, stream] : entries_) {
      if (const auto* entry = stream->head()) {
        consider(entry->entity_id);
      }
    }
    return lowest;
  }

  void visit(const Uuid& id) {
    const std::uint32_t home = store::shard_of(id, shards_.count());
    std::vector<PlacedRow> expected;
    for (EntityStream& stream : entities_) {
      if (const auto* head = stream.head(); head && head->id == id) {
        const store::EntityRow entity = stream.take();
        ++counts_.entities;
        report_now_and_then(stream.shard());
        if (stream.shard() != home) {
          visitor_.broken_entity(
              {FindingKind::wrong_shard, {}, stream.shard(), id, "belongs on shard " + std::to_string(home)});
        } else {
          expected = expected_of(entity, home);
        }
      }
    }
    std::vector<PlacedRow> actual;
    for (auto& [index, stream] : entries_) {
      for (const auto* head = stream->head(); head && head->entity_id == id; head = stream->head()) {
        actual.push_back({stream->shard(), index, stream->take()});
        ++counts_.rows[{catalog_.indexes[index].definition.table, stream->shard()}];
        report_now_and_then(stream->shard());
      }
    }
    std::sort(actual.begin(), actual.end());
    if (actual != expected) {
      visitor_.suspect(id);
    }
  }

  std::vector<PlacedRow> expected_of(const store::EntityRow& entity, std::uint32_t home) {
    if (!entity.body) {
      return {};
    }
    try {
      const auto json = model::parse_stored(codec::decode_body(*entity.body, model::max_body_size));
      if (model::id_of(json) != entity.id) {
        visitor_.broken_entity({FindingKind::wrong_id, {}, home, entity.id, "its body has another id"});
      }
      return placed_rows(catalog_, entity.id, &json, home, shards_.count());
    } catch (const Error& error) {
      visitor_.broken_entity({FindingKind::unreadable, {}, home, entity.id, error.what()});
      return {};
    }
  }

  void report_now_and_then(std::uint32_t shard) {
    if (++rows_seen_ % WalkVisitor::progress_every == 0) {
      visitor_.progress(shard, counts_.entities);
    }
  }

  store::Shards& shards_;
  const WalkVisitor& visitor_;
  store::Catalog catalog_;  // of the indexes walked
  std::deque<EntityStream> entities_;
  std::vector<std::pair<std::size_t, std::unique_ptr<EntryStream>>> entries_;
  WalkCounts counts_;
  std::uint64_t rows_seen_ = 0;
};

}  // namespace

WalkCounts walk(store::Shards& shards, const std::vector<store::CatalogIndex>& indexes, const WalkVisitor& visitor) {
  return Walk(shards, indexes, visitor).run();
}

}  // namespace looseleaf::ops

// Shows the rows of one entity, or why there are none.
#include "index/explain.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "codec/body.hpp"
#include "index/declared_indexes.hpp"
#include "model/entity.hpp"
#include "model/indexing.hpp"
#include "shard/entity_rows.hpp"

namespace looseleaf::index {
namespace {

// Finds values that several entities of a sample have although an index is to be unique.
class SharedValues {
 public:
  explicit SharedValues(base::Warnings& warnings) : warnings_(warnings) {}

  void add(const IndexDefinition& definition, const std::vector<model::Row>& rows, const Uuid& id) {
    for (const model::Row& row : rows) {
      const auto [first, is_new] = ids_.try_emplace({definition.table, model::to_json(row)}, id);
      if (!is_new && !std::exchange(told_[definition.table], true)) {
        warnings_.give({"two entities have the same value, and the index would be unique",
                        {{"index", definition.table},
                         {"value", first->first.second},
                         {"entities", to_string(first->second) + ", " + to_string(id)}},
                        "the backfill would not make the index ready: change the entities first, or leave `unique` "
                        "out"});
      }
    }
  }

 private:
  base::Warnings& warnings_;
  std::map<std::pair<std::string, std::string>, Uuid> ids_;  // by index and values
  std::map<std::string, bool> told_;                         // by index
};

}  // namespace

// Definitions are the same on every shard.
std::vector<IndexedEntity> explain(shard::Shards& shards, std::string_view json, Position start) {
  const model::AcceptedEntity entity = model::accept_entity(json, start);
  std::vector<IndexedEntity> explained;
  const auto catalog = shard::read_shard(shards, 0, shards.deadline(), [&](const sql::Database& database) {
    return shards.catalogs().reload(0, database);
  });
  for (const shard::CatalogIndex& index : catalog->indexes) {
    IndexedEntity& in_index = explained.emplace_back(IndexedEntity{index.definition, {}, {}, {}});
    for (const model::Row& row : entity.parsed.expected_rows(index.definition)) {
      in_index.rows.push_back(model::to_json(row));
    }
    if (in_index.rows.empty()) {
      in_index.reason = entity.parsed.reason_for_no_row(index.definition);
    } else {
      in_index.left_out = entity.parsed.elements_left_out(index.definition);
    }
  }
  return explained;
}

std::map<std::string, IndexingCounts> count_sample(shard::Shards& shards, const std::vector<IndexDefinition>& given) {
  const std::vector<IndexDefinition> definitions = checked(given);
  constexpr std::size_t of_all_shards = 1000;
  constexpr std::uint64_t most_bytes = 64 << 10;  // of a body; larger ones are left out
  const std::size_t sample = std::max<std::size_t>(1, of_all_shards / shards.count());
  std::mutex mutex;
  std::map<std::string, IndexingCounts> indexing;
  SharedValues shared(shards.warnings());
  shard::for_each_shard(shards, [&](std::uint32_t shard) {
    const auto entities = shard::read_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
      return shard::read_before(database, std::numeric_limits<std::int64_t>::max(), sample, most_bytes);
    });
    const std::lock_guard lock(mutex);
    for (const shard::EntityRow& row : entities) {
      if (!row.body) {
        continue;
      }
      try {
        const model::ParsedEntity entity(codec::decode_body(*row.body, model::max_body_size));
        for (const IndexDefinition& definition : definitions) {
          const std::vector<model::Row> rows = entity.expected_rows(definition);
          model::count_entity(indexing[definition.table], definition, entity, row.id, rows.size());
          if (definition.unique) {
            shared.add(definition, rows, row.id);
          }
        }
      } catch (const Error&) {  // damaged: backfill and verify name it
      }
    }
  });
  return indexing;
}

}  // namespace looseleaf::index

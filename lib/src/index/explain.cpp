// Shows the rows of one entity, or why there are none.
#include "index/explain.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/indexing.hpp"
#include "shard/entity_rows.hpp"

namespace looseleaf::index {

// Definitions are the same on every shard.
std::vector<IndexedEntity> explain(shard::Shards& shards, std::string_view json, Position start) {
  const model::AcceptedEntity entity = model::accept_entity(json, start);
  std::vector<IndexedEntity> explained;
  for (const shard::CatalogIndex& index : shards.catalog(0, shards.deadline())->indexes) {
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

std::map<std::string, IndexingCounts> count_sample(shard::Shards& shards,
                                                   const std::vector<IndexDefinition>& definitions) {
  constexpr std::size_t of_all_shards = 1000;
  constexpr std::uint64_t most_bytes = 64 << 10;  // of a body; larger ones are left out
  const std::size_t sample = std::max<std::size_t>(1, of_all_shards / shards.count());
  std::mutex mutex;
  std::map<std::string, IndexingCounts> indexing;
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
          model::count_entity(indexing[definition.table], definition, entity, row.id,
                              entity.expected_rows(definition).size());
        }
      } catch (const Error&) {  // damaged: backfill and verify name it
      }
    }
  });
  return indexing;
}

}  // namespace looseleaf::index

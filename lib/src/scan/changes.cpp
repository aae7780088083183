// Finds the entities that changed in a span of time.
#include "scan/changes.hpp"

#include <fmt/format.h>

#include "shard/entity_rows.hpp"
#include "sql/literals.hpp"

namespace looseleaf::scan {

void for_changed(shard::Shards& shards, std::uint32_t shard, base::Stamp from, base::Stamp until,
                 const std::function<void(const std::vector<Uuid>&, base::Stamp)>& work) {
  constexpr std::size_t batch_size = 500;
  // Reads the index on `updated` in pages, in descending order. It ends in the primary key, added_id.
  shard::StampPlace below = {until, 0};
  while (true) {
    const sql::Result rows = shard::read_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
      return database->query(
          fmt::format("SELECT id, updated, added_id FROM {} WHERE updated >= {} AND {} "
                      "ORDER BY updated DESC, added_id DESC LIMIT {}",
                      database.table("entities"), sql::stamp_literal(from), shard::earlier_than(below), batch_size));
    });
    if (rows.empty()) {
      return;
    }
    std::vector<Uuid> ids;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ids.push_back(shard::require_uuid(rows.text(i, 0)));
    }
    below = {base::parse_stamp(rows.text(rows.size() - 1, 1)), rows.unsigned_integer(rows.size() - 1, 2)};
    work(ids, below.updated);
  }
}

}  // namespace looseleaf::scan

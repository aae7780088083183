// Reading the version of an entity that a write will depend on.
#include "update/versions.hpp"

#include <utility>
#include <vector>

#include "read/get.hpp"
#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"

namespace looseleaf::update {

void read_versions(shard::Shards& shards, std::span<const Uuid> ids, const TextCheck& check,
                   const std::function<void(GetResult)>& on_result) {
  read::Unavailable unavailable;
  std::size_t given = 0;
  const auto give = [&](GetResult result) {
    ++given;
    on_result(std::move(result));
    return true;
  };
  try {
    read::get_each(shards, ids, give, unavailable, read::Wanted::all, {.text = check, .skip = {}}, Stamps::read);
  } catch (const Error& error) {  // of all ids that are left
    while (given < ids.size()) {
      give({ids[given], {}, error, {}});
    }
  }
}

GetResult read_version(shard::Shards& shards, const Uuid& id) {
  GetResult version{id, {}, {}, {}};
  read_versions(shards, {&id, 1}, read::require_entity, [&](GetResult result) { version = std::move(result); });
  return version;
}

// The versions are read again by the session that makes them durable. It may be a new one, and only what it sees itself
// was not forgotten before.
std::set<Uuid> make_durable(shard::Shards& shards, std::uint32_t shard, const std::map<Uuid, std::string>& stamps) {
  std::vector<Uuid> ids;
  for (const auto& [id, _] : stamps) {
    ids.push_back(id);
  }
  return shard::with_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
    std::set<Uuid> changed(ids.begin(), ids.end());
    for (const shard::EntityRow& row : shard::read_stamps(database, ids, shard::Lock::none)) {
      if (to_string(row.updated) == stamps.at(row.id)) {
        changed.erase(row.id);
      }
    }
    shard::make_durable(database, shard);
    return changed;
  });
}

}  // namespace looseleaf::update

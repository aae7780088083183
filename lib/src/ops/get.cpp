// Reading entities by id.
#include "ops/get.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "base/parallel.hpp"
#include "codec/body.hpp"
#include "model/entity.hpp"
#include "store/entity_rows.hpp"
#include "store/placement.hpp"

namespace looseleaf::ops {
namespace {

// The stored texts of one shard's ids; sorted and distinct.
std::map<Uuid, std::string> read_texts(store::Shards& shards, std::uint32_t shard, std::vector<Uuid> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const base::Deadline deadline = shards.deadline();
  return store::on_shard(shards, shard, [&] {
    std::map<Uuid, std::string> texts;
    for (std::size_t from = 0; from < ids.size(); from += store::max_ids) {
      const auto part = std::span(ids).subspan(from, std::min(store::max_ids, ids.size() - from));
      const auto rows = store::with_shard(shards, shard, deadline, [&](sql::Connection& connection) {
        return store::read_entities(connection, part, store::Lock::none);
      });
      for (const store::EntityRow& row : rows) {
        if (row.body) {
          try {
            texts.emplace(row.id, codec::decode_body(*row.body, model::max_body_size));
          } catch (Error& error) {
            error.with("id", to_string(row.id));
            throw;
          }
        }
      }
    }
    return texts;
  });
}

}  // namespace

std::vector<std::optional<Entity>> get(store::Shards& shards, const std::vector<Uuid>& ids) {
  std::map<std::uint32_t, std::vector<Uuid>> by_shard;
  for (const Uuid& id : ids) {
    by_shard[store::shard_of(id, shards.count())].push_back(id);
  }
  std::map<std::uint32_t, std::map<Uuid, std::string>> texts;
  std::vector<std::function<void()>> tasks;
  for (auto& [shard, wanted] : by_shard) {
    tasks.emplace_back([&, shard = shard, &into = texts[shard], &wanted = wanted] {
      into = read_texts(shards, shard, std::move(wanted));
    });
  }
  base::run_all(tasks);
  std::vector<std::optional<Entity>> found;
  found.reserve(ids.size());
  for (const Uuid& id : ids) {
    const auto& of_shard = texts.at(store::shard_of(id, shards.count()));
    const auto text = of_shard.find(id);
    found.push_back(text == of_shard.end() ? std::nullopt : std::optional(Entity{id, text->second}));
  }
  return found;
}

}  // namespace looseleaf::ops

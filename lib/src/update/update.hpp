// Writes that depend on what is stored: read an entity, make another text of it, and store that if the entity has not
// changed meanwhile.
#pragma once

#include <functional>
#include <looseleaf/entity_reader.hpp>
#include <looseleaf/key.hpp>
#include <looseleaf/uuid.hpp>
#include <looseleaf/write.hpp>
#include <string>
#include <vector>

#include "shard/shards.hpp"
#include "write/put.hpp"

namespace looseleaf::update {

// See Datastore::merge.
[[nodiscard]] std::vector<WriteResult> merge(shard::Shards& shards, write::Writer& writer,
                                             const std::vector<std::string>& texts,
                                             const std::vector<Position>& positions, const Key& key);

// See Datastore::update.
[[nodiscard]] WriteResult update(shard::Shards& shards, write::Writer& writer, const Uuid& id,
                                 const std::function<std::string(const std::string& text)>& change, const Key& key);

}  // namespace looseleaf::update

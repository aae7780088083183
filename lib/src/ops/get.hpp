// Reading entities by id.
#pragma once

#include <looseleaf/datastore.hpp>
#include <optional>
#include <vector>

#include "store/shards.hpp"

namespace looseleaf::ops {

// In the order asked; absent where there is no entity. All shards are asked at once. Throws Error(corrupt) with the id
// for a body that cannot be read.
[[nodiscard]] std::vector<std::optional<Entity>> get(store::Shards& shards, const std::vector<Uuid>& ids);

}  // namespace looseleaf::ops

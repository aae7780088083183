// What a row of the feed is to a consumer.
#pragma once

#include <cstdint>
#include <looseleaf/feed.hpp>
#include <optional>

#include "model/filter.hpp"
#include "shard/entity_rows.hpp"

namespace looseleaf::feed {

// Whether a page belongs to the first reading of all entities, or to the changes after it.
enum class Source { scan, changes };

// Returns nothing for an entity of a scan that does not match: no consumer has it yet.
[[nodiscard]] std::optional<Change> to_change(std::uint32_t shard, const shard::EntityRow& row,
                                              const model::Filter& filter, Source source);

}  // namespace looseleaf::feed

// Delivers the feed of a whole cluster: each server's shards by a thread of their own.
#pragma once

#include <functional>
#include <looseleaf/feed.hpp>
#include <optional>
#include <string>

#include "feed/position.hpp"
#include "shard/shards.hpp"

namespace looseleaf::feed {

// Returns the position that a text means: one that to_text() returned, "beginning", or "now", which takes a barrier on
// every shard, or on this one only. Throws Error(bad_position).
[[nodiscard]] Position start_position(shard::Shards& shards, const std::string& after,
                                      std::optional<std::uint32_t> only = {});

using OnBatch = std::function<bool(const ChangeBatch&)>;

// Delivers every entity that exists throughout at least once, and exactly once if it is not purged meanwhile. Calls
// `on_batch` with batches of each shard, one call at a time, from any thread, until it returns false. `report` is
// filled also if the call throws. Throws Error(bad_position).
void export_entities(shard::Shards& shards, const FeedOptions& options, const OnBatch& on_batch, FeedReport& report);

// Delivers the latest version of every entity that has changed after the position, in the order of stamps for each
// shard, and at least once. To follow a store that has moved ends with Error(moved) once everything was delivered.
void changes(shard::Shards& shards, const ChangesOptions& options, const OnBatch& on_batch, FeedReport& report);

}  // namespace looseleaf::feed

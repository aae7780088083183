// Runs a trigger: creates it, reads this process's shards, and gives the consumer batches.
#pragma once

#include <functional>
#include <looseleaf/trigger.hpp>
#include <span>

#include "shard/shards.hpp"

namespace looseleaf::trigger {

using Deliver = std::function<bool(std::span<const Change>)>;

// Calls `deliver` with batches, one call at a time, from any thread, until `options.stop` says so. If it returns false
// or throws an Error, it gets the batch again. Throws Error(bad_position) if a position of the trigger is no longer
// valid, Error(usage) if the trigger is dropped, and Error(moved) once everything of a store that has moved was
// delivered.
TriggerReport run(shard::Shards& shards, const TriggerOptions& options, const Deliver& deliver);

}  // namespace looseleaf::trigger

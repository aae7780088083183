// Moves a store to its copy: docs/protocol.md, "Moving a store".
#pragma once

#include <looseleaf/copy.hpp>

#include "shard/shards.hpp"

namespace looseleaf::move {

// See Datastore::move_to.
MoveReport finish(shard::Shards& original, shard::Shards& other, const MoveOptions& options, JobControl& control);

}  // namespace looseleaf::move

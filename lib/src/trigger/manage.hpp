// Creates, resets and drops triggers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::trigger {

// Throws Error(usage) for a name that no trigger can have.
void check_name(const std::string& name);

// Creates the rows that the trigger lacks. `after` is where it begins if it has none at all. A shard that alone lacks
// its row begins with all entities, because nobody knows how far it had come. Warns if there is an `after` that is not
// used. Throws Error(moved) instead of creating a trigger of a store that has moved.
void create(shard::Shards& shards, const std::string& name, const std::optional<std::string>& after);

// Whether a trigger may be changed while a process runs it.
enum class WhileRunning { refuse, change };

// Lets the trigger begin again at `after`. Throws Error(usage) if there is none of this name, and Error(busy) if a
// process runs it. So does drop(). Throws Error(moved) if the store has moved.
void reset(shard::Shards& shards, const std::string& name, const std::string& after, WhileRunning running);
void drop(shard::Shards& shards, const std::string& name, WhileRunning running);

// Lets triggers of these names begin now in a store that is not open yet, and that only this process may write to
// (Shards::use_access_token). Replaces triggers of the same names and the same generation. One of another generation has
// a position of its own, which is left to it on all shards. Returns the names of those that begin now.
std::vector<std::string> start_now(shard::Shards& shards, const std::vector<std::string>& names,
                                   std::uint64_t generation);

}  // namespace looseleaf::trigger

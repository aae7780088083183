// What there is to know of all triggers.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/trigger.hpp>
#include <map>
#include <string>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::trigger {

// Returns all triggers, in the order of their names, or with `only` the one of this name, if there is one. Adds a shard
// that does not answer to `down`, with the reason.
[[nodiscard]] std::vector<TriggerStatus> list(shard::Shards& shards, std::map<std::uint32_t, Error>& down,
                                              const std::string& only = {});

}  // namespace looseleaf::trigger

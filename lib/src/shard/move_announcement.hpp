// Tells reads that a store may move, or has moved: docs/protocol.md, "Who may write".
#pragma once

#include <functional>
#include <string_view>

#include "shard/shards.hpp"

namespace looseleaf::shard {

// Follows the name of `entities` in a read that fails, with unknown_key, once a move was announced there. The server
// looks the name up when it opens the table, so a read pays nothing for it. The key itself is of no use to such a read.
inline constexpr std::string_view unless_announced = " IGNORE INDEX (updated)";
inline constexpr int unknown_key = 1176;

// Announces on all shards, durably, that their store may move: gives the key on `updated` another name. Waits for all
// reads of the table that are under way, on all shards together until one deadline. Ends once `stopped` returns true. A
// key that was renamed stays so, because nobody can know of all processes that might still move the store.
void announce_move(Shards& shards, const std::function<bool()>& stopped);
// Throws what the server says if the user may not do that, or an Error if the table's keys do not permit it.
void require_may_announce(const sql::Database& database);

}  // namespace looseleaf::shard

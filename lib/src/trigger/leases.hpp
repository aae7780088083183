// Which processes run a trigger: a row of looseleaf_progress for each process and server, in the database of the
// server's first shard. A process that does not renew its row for some seconds counts as dead.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sql/database.hpp"

namespace looseleaf::trigger {

// The token of a process and its name, for messages.
using Processes = std::map<std::uint64_t, std::string>;

void renew_lease(const sql::Database& first, const std::string& trigger, std::uint64_t token);
void remove_lease(const sql::Database& first, std::uint64_t token);
// Deletes the rows of all processes that run the trigger.
void remove_leases(const sql::Database& first, const std::string& trigger);
// Deletes rows that nobody has renewed for an hour.
void remove_old_leases(const sql::Database& first);
// Returns the processes that are alive.
[[nodiscard]] Processes live_processes(const sql::Database& first, const std::string& trigger);

}  // namespace looseleaf::trigger

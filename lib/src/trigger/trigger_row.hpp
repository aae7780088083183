// How far a trigger has come on one shard, and which process holds the shard: a row of looseleaf_progress.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "feed/position.hpp"
#include "job/jobs.hpp"
#include "sql/database.hpp"

namespace looseleaf::trigger {

using job::lease_job;
using job::trigger_job;

// Why the consumer does not take what comes next.
struct DeliveryError {
  std::string text;
  std::string since;  // UTC
  std::uint64_t times = 0;
};

struct TriggerRow {
  std::string name;
  std::uint64_t generation = 0;  // drawn anew when the trigger is created or reset
  std::optional<feed::ShardPosition> position = {};
  std::optional<DeliveryError> error = {};
  std::uint64_t token = 0;  // of the process that holds the shard; 0: none
  std::string holder = {};
  std::uint64_t done = 0;  // changes taken
  std::string since = {};  // UTC
};

[[nodiscard]] TriggerRow to_trigger_row(const job::JobRow& row);
[[nodiscard]] std::optional<TriggerRow> read_trigger(const sql::Database& database, const std::string& name);

// Inserts the row, or replaces it. A process that holds the shard loses it.
void write_trigger(const sql::Database& database, const TriggerRow& row);
void remove_trigger(const sql::Database& database, const std::string& name);

// Stores position, error and done, if the row has this token and generation. Returns false if it has not.
[[nodiscard]] bool store_progress(const sql::Database& database, const TriggerRow& row);
// Gives a shard to another process, if it still is that of `from`. Returns false if it is not.
[[nodiscard]] bool change_holder(const sql::Database& database, const std::string& name, std::uint64_t from,
                                 std::uint64_t to, const std::string& holder);

}  // namespace looseleaf::trigger

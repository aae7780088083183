// Triggers: a consumer gets every change at least once, and the store keeps how far it has come. Several processes can
// run one trigger; they divide the shards among them. docs/feed.md says what exactly is promised.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/error.hpp>
#include <looseleaf/feed.hpp>
#include <looseleaf/query.hpp>
#include <optional>
#include <string>
#include <vector>

namespace looseleaf {

// What a process has done for a trigger since it began.
struct TriggerReport {
  std::uint64_t delivered = 0;        // changes that the consumer has taken
  std::uint64_t failures = 0;         // batches that it has not taken, each time
  std::vector<std::uint32_t> shards;  // those that this process reads now, in ascending order
};

struct TriggerOptions {
  std::string name;  // 1 to 64 characters of A-Z, a-z, 0-9, _, . and -
  // Where a trigger that does not exist yet begins: see FeedOptions::after; absent: "beginning". An existing one goes
  // on where it was; if this is given, Options::on_warning gets a warning.
  std::optional<std::string> after = {};
  std::vector<Condition> where = {};  // see FeedOptions::where
  std::uint64_t batch = 1000;         // the most changes of a batch; it ends at about 8 MiB of text in any case
  // Called from time to time, by several threads at once. If it returns true, the call gives its shards back and
  // returns.
  std::function<bool()> stop = {};
  // Called with the error when a shard begins to fail, which is tried again, and with null when it works again.
  std::function<void(std::uint32_t shard, const Error* failure)> on_failure = {};
  // Called after each batch, and when the shards of this process have changed. From any thread, one call at a time. It
  // must not throw, and neither must on_failure.
  std::function<void(const TriggerReport&)> on_progress = {};
};

// A trigger on one shard.
struct TriggerShard {
  std::uint32_t shard = 0;
  std::string holder = {};                   // the process that reads it; empty: none does now
  std::optional<std::string> position = {};  // the stamp up to which changes were taken; absent: it has not begun
  bool scanning = false;                     // it has begun with all entities, and still reads these
  std::uint64_t delivered = 0;               // changes that were taken since the trigger was created or reset
  std::uint64_t lag_changes = 0;             // changes that were not taken yet, counted up to most_lag_counted
  std::chrono::seconds lag = {};             // the age of the oldest of these
  std::string error = {},
              error_since = {};  // why the consumer does not take the batch in hand, and since when; or empty
};

inline constexpr std::uint64_t most_lag_counted = 100'000;

struct TriggerStatus {
  std::string name;
  std::vector<TriggerShard> shards;  // of those that answer, in ascending order
};

}  // namespace looseleaf

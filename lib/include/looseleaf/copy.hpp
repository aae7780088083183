// Copying a store to another cluster, with another number of shards, on other servers or the other vendor's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/compare.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/jobs.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <string>
#include <vector>

namespace looseleaf {

struct CopyOptions {
  bool follow = false;     // go on with what changes until stopped
  Throttle throttle = {};  // for reading from the original
  // With `follow`: called with the error when a shard of the original, or the other cluster as a whole (`shard` is
  // absent), begins to fail, and with null when it works again. It is tried again every second.
  std::function<void(std::optional<std::uint32_t> shard, const Error* failure)> on_failure = {};
  // With `follow`: everything that was stored when the copy began to follow is there. Called once.
  std::function<void()> on_caught_up = {};
  // An entity whose body cannot be read is not copied.
  std::function<void(const Uuid& id, const Error& reason)> on_unreadable = {};
};

// How a copy is detached: after it has caught up, or as it is, which may be a part of the store.
enum class CopyEnd { caught_up, as_it_is };

struct CopyReport {
  std::vector<std::string> created, dropped;  // indexes of the other cluster
  std::uint64_t written = 0;                  // versions of entities, and deletes, in this run
  std::uint64_t unreadable = 0;               // entities that were not copied
};

struct MoveOptions {
  CopyOptions copy = {};  // without `follow`; the throttle ends when writers begin to wait
  // Once writers have waited this long, any of them may open the store again, and the move is given up.
  std::chrono::seconds freeze_limit = std::chrono::seconds(10);
  // A difference between both stores, because of which the move is refused. One call at a time, from any thread.
  std::function<void(const Difference&)> on_difference = {};
};

struct MoveReport {
  CopyReport copy;
  std::uint64_t differences = 0;           // entities because of which the store has not moved; 0: it has
  std::uint64_t compared = 0;              // entities that were compared while the store was open
  std::uint64_t compared_again = 0;        // of these, those that changed meanwhile, each time
  std::chrono::milliseconds blocked = {};  // the time during which writers waited
  std::vector<std::string> triggers;       // that begin in the other store
  bool was_decided = false;                // an earlier call had decided the move, and this one has only completed it
};

}  // namespace looseleaf

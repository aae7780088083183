// Copying a store to another cluster, with another number of shards, on other servers or the other vendor's.
#pragma once

#include <cstdint>
#include <functional>
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
  // With `follow`: a shard of the original, or the other cluster as a whole (shard is absent), fails for the time being
  // and is tried again every second; and then, without an error, that it works again.
  std::function<void(std::optional<std::uint32_t> shard, const Error* failure)> on_failure = {};
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

}  // namespace looseleaf

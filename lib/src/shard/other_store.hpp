// Errors of a second store: its cluster file is named, because both stores have a shard 0, and hints name commands for
// the first one.
#pragma once

#include <looseleaf/error.hpp>
#include <string>
#include <utility>

#include "shard/schema.hpp"
#include "shard/shards.hpp"

namespace looseleaf::shard {

// Adds the cluster file of the other store to an error, and to the commands of its hint.
inline void of_other_store(Error& error, const Shards& other) {
  const std::string& file = other.cluster().file;
  if (!file.empty()) {
    error.with("cluster_file", file).with_hint(hint_for_file(error.hint(), file));
  }
}

// Runs `work`, which concerns only the other store, and adds its cluster file to its errors.
template <typename Work>
auto in_other_store(const Shards& other, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (Error& error) {
    of_other_store(error, other);
    throw;
  }
}

}  // namespace looseleaf::shard

// One of the two stores of a comparison.
#pragma once

#include <looseleaf/error.hpp>
#include <string>
#include <utility>

#include "job/job.hpp"
#include "shard/schema.hpp"
#include "shard/shards.hpp"

namespace looseleaf::compare {

struct Store {
  shard::Shards& shards;
  job::Job& job;  // the part of the job that reads this store
  bool is_other = false;
};

// Runs `work`, which reads only this store. Errors of the other store name its cluster file: both stores have a shard
// 0.
template <typename Work>
auto in_store(const Store& store, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (Error& error) {
    const std::string& file = store.shards.cluster().file;
    if (store.is_other && !file.empty()) {
      error.with("cluster_file", file).with_hint(shard::hint_for_file(error.hint(), file));
    }
    throw;
  }
}

}  // namespace looseleaf::compare

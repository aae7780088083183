// One of the two stores of a comparison.
#pragma once

#include <looseleaf/error.hpp>
#include <utility>

#include "job/job.hpp"
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
    if (store.is_other && !store.shards.cluster().file.empty()) {
      error.with("cluster_file", store.shards.cluster().file);
    }
    throw;
  }
}

}  // namespace looseleaf::compare

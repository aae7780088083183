// One of the two stores of a comparison.
#pragma once

#include <utility>

#include "job/job.hpp"
#include "shard/other_store.hpp"
#include "shard/shards.hpp"

namespace looseleaf::compare {

struct Store {
  shard::Shards& shards;
  job::Job& job;  // the part of the job that reads this store
  bool is_other = false;
};

// Runs `work`, which reads only this store.
template <typename Work>
auto in_store(const Store& store, Work&& work) -> decltype(work()) {
  return store.is_other ? shard::in_other_store(store.shards, std::forward<Work>(work)) : std::forward<Work>(work)();
}

}  // namespace looseleaf::compare

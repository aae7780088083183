// What a Datastore holds.
#pragma once

#include <looseleaf/datastore.hpp>
#include <utility>

#include "shard/shards.hpp"
#include "write/put.hpp"

namespace looseleaf {

class Datastore::Impl {
 public:
  Impl(Cluster cluster, Options options) : shards(std::move(cluster), std::move(options)), writer(shards) {}

  shard::Shards shards;
  write::Writer writer;
};

}  // namespace looseleaf

// A cluster's tables as they were at one moment, kept beside them on the same servers.
#pragma once

#include "tests/support/observed_store.hpp"

namespace looseleaf::test {

class Snapshot {
 public:
  // Copies every table of every shard into a database of its own.
  Snapshot(const TestCluster& cluster, Observer& observer);

  // Makes the shards what they were. Nobody else may use them meanwhile.
  void restore();

 private:
  void restore_shard(std::uint32_t shard);

  const TestCluster& cluster_;
  Observer& observer_;
};

}  // namespace looseleaf::test

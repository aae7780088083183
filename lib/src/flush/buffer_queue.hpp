// The buffered writes of all shards, in the order in which they were accepted.
#pragma once

#include <cstdint>
#include <deque>
#include <looseleaf/error.hpp>
#include <map>
#include <optional>
#include <vector>

#include "job/job.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/shards.hpp"

namespace looseleaf::flush {

// Merges the lists of several shards. `shards`, `job` and `failures` outlive it. Not thread-safe.
class BufferQueue {
 public:
  // `from` are the shards that have copies. Adds shards that cannot be read to `failures`, with the reason.
  BufferQueue(shard::Shards& shards, job::Job& job, const std::vector<std::uint32_t>& from,
              std::map<std::uint32_t, Error>& failures);

  // Returns the next write, without its body; absent at the end. A write with two copies comes once. What is buffered
  // after the queue was made may be missing.
  [[nodiscard]] std::optional<shard::BufferedWrite> next();

  // Returns false if a shard could not be read to its end.
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  struct OfShard {
    std::deque<shard::BufferedWrite> read;  // in order
    shard::BufferPlace behind;              // where the next page begins
    bool more = true;
  };

  void read_page(std::uint32_t shard, OfShard& of_shard);

  shard::Shards& shards_;
  job::Job& job_;
  std::map<std::uint32_t, Error>& failures_;
  std::map<std::uint32_t, OfShard> of_shards_;
  std::optional<std::uint64_t> last_;  // the token of the write that was returned last
  bool complete_ = true;
};

}  // namespace looseleaf::flush

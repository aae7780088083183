// The buffered writes of all shards, as the passes of clean store them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "flush/flush.hpp"
#include "job/job.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/shards.hpp"

namespace looseleaf::clean {

// `shards` and `job` outlive it.
class BufferFlusher {
 public:
  // `on_flushed` gets the counts of each flush, also of one that is interrupted. Unless flush() `repeats`, it warns of
  // writes that are left.
  BufferFlusher(shard::Shards& shards, job::Job& job, bool repeats, std::function<void(const FlushReport&)> on_flushed)
      : shards_(shards), job_(job), repeats_(repeats), on_flushed_(std::move(on_flushed)), buffers_(shards.count()) {}

  // Stores what can be stored. What was left is tried again more and more rarely, up to once a minute, or once other
  // shards answer than before. Throws why something cannot be flushed, also in calls that do not try again yet.
  //
  // A shard that does not answer fails the pass in other ways, and a frozen store is no failure. What needs them is
  // left.
  void flush();
  // See CleanPass. Thread-safe.
  [[nodiscard]] std::vector<CleanPass::Buffer> buffers();

 private:
  using Clock = std::chrono::steady_clock;

  // Returns why something cannot be flushed, unless it is that a shard is down, or that the store takes no writes.
  [[nodiscard]] std::optional<Error> flush_now(const shard::BufferCountsByShard& counts);
  void note(const shard::BufferCountsByShard& counts, const std::map<std::uint32_t, Error>& failures);
  void warn_of_left(const FlushReport& flushed);

  shard::Shards& shards_;
  job::Job& job_;
  const bool repeats_;
  const std::function<void(const FlushReport&)> on_flushed_;
  std::optional<Error> failure_;  // of the last flush
  Clock::time_point flush_at_;    // not earlier: what was left then would be left again
  static constexpr std::chrono::seconds after_a_partial_flush{5};
  std::chrono::seconds pause_ = after_a_partial_flush;  // after the next partial flush
  std::set<std::uint32_t> silent_;                      // shards that could not be asked what they have
  std::mutex mutex_;                                    // guards the member below
  std::vector<CleanPass::Buffer> buffers_;              // by shard
};

}  // namespace looseleaf::clean

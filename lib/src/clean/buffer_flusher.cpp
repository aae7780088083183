// The buffered writes of all shards, as the passes of clean store them.
#include "clean/buffer_flusher.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace looseleaf::clean {
namespace {

constexpr std::chrono::seconds longest_pause(60);

}  // namespace

void BufferFlusher::flush() {
  std::map<std::uint32_t, Error> failures;
  const auto counts = shard::count_buffered(shards_, failures);
  note(counts, failures);
  std::set<std::uint32_t> silent;
  for (const auto& [shard, error] : failures) {
    silent.insert(shard);
  }
  if (std::exchange(silent_, silent) != silent) {  // what was left may be stored now
    flush_at_ = {};
    pause_ = after_a_partial_flush;
  }
  if (counts.empty()) {
    failure_.reset();
  } else if (Clock::now() >= flush_at_) {
    failure_ = flush_now(counts);
  }
  if (failure_) {  // also in the passes that do not try again yet
    throw Error(*failure_);
  }
}

std::optional<Error> BufferFlusher::flush_now(const shard::BufferCountsByShard& counts) {
  FlushReport flushed;
  try {
    flush::flush(shards_, job_, counts, flushed);
  } catch (const Error&) {
    on_flushed_(flushed);
    throw;
  }
  on_flushed_(flushed);
  if (flushed.left > 0 && !repeats_) {
    warn_of_left(flushed);
  }
  const bool partial = flushed.left > 0 || !flushed.failures.empty();
  if (!partial || flushed.stored > 0) {
    pause_ = after_a_partial_flush;
  }
  if (partial) {  // the next one reads all that is left, perhaps in vain again
    flush_at_ = Clock::now() + std::exchange(pause_, std::min(2 * pause_, longest_pause));
  }
  for (const auto& [shard, error] : flushed.failures) {
    if (error.code() != ErrorCode::unavailable && error.code() != ErrorCode::frozen &&
        error.code() != ErrorCode::moved) {
      return error;
    }
  }
  return std::nullopt;
}

void BufferFlusher::warn_of_left(const FlushReport& flushed) {
  Error::Context context = {{"writes", std::to_string(flushed.left)}};
  std::string hint = "run `looseleaf flush` again";  // somebody changed the entities at the same time
  if (!flushed.failures.empty()) {
    auto [shard, error] = *flushed.failures.begin();
    error.with("shard", std::to_string(shard));
    context.emplace_back("cause", error.what());
    context.insert(context.end(), error.context().begin(), error.context().end());
    hint = "run `looseleaf flush` once the cause is removed; it names all causes";
  }
  shards_.warnings().give({"buffered writes are left", std::move(context), std::move(hint)});
}

void BufferFlusher::note(const shard::BufferCountsByShard& counts, const std::map<std::uint32_t, Error>& failures) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
    if (!failures.contains(shard)) {
      const auto count = counts.find(shard);
      const shard::BufferCounts found = count == counts.end() ? shard::BufferCounts() : count->second;
      buffers_[shard] = {found.copies, std::chrono::duration_cast<std::chrono::seconds>(found.oldest), found.refusals};
    }
  }
}

std::vector<CleanPass::Buffer> BufferFlusher::buffers() {
  const std::lock_guard lock(mutex_);
  return buffers_;
}

}  // namespace looseleaf::clean

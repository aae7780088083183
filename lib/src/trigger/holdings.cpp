// A table of shards under a lock.
#include "trigger/holdings.hpp"

namespace looseleaf::trigger {

void Holdings::note(std::uint32_t shard, const TriggerRow& row) {
  known_[shard] = {row.generation, row.position ? std::optional(row.position->place) : std::nullopt};
}

void Holdings::hold(std::uint32_t shard, const TriggerRow& row) {
  const std::lock_guard lock(mutex_);
  held_[shard] = {row, row.position};
  note(shard, row);
}

void Holdings::lose(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  held_.erase(shard);
}

bool Holdings::let_go(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(shard);
  if (found != held_.end() && found->second.in_hand) {
    found->second.leaving = true;
    return false;
  }
  held_.erase(shard);
  return true;
}

void Holdings::keep(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  if (const auto found = held_.find(shard); found != held_.end()) {
    found->second.leaving = false;
  }
}

bool Holdings::holds(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  return held_.contains(shard);
}

std::vector<std::uint32_t> Holdings::held() {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> shards;
  for (const auto& [shard, held] : held_) {
    shards.push_back(shard);
  }
  return shards;
}

std::vector<std::uint32_t> Holdings::held_of(std::span<const std::uint32_t> shards) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> ours;
  for (const std::uint32_t shard : shards) {
    if (held_.contains(shard)) {
      ours.push_back(shard);
    }
  }
  return ours;
}

Holdings::Position Holdings::reading(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(shard);
  return found == held_.end() ? std::nullopt : found->second.reading;
}

std::optional<TriggerRow> Holdings::row(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(shard);
  return found == held_.end() ? std::nullopt : std::optional(found->second.row);
}

Known Holdings::known(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(shard);
  return found == known_.end() ? Known() : found->second;
}

bool Holdings::move(std::uint32_t shard, const Position& from, const Position& to) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(shard);
  if (found == held_.end() || found->second.reading != from || (found->second.leaving && !found->second.in_hand)) {
    return false;
  }
  found->second.reading = to;
  found->second.in_hand = true;
  return true;
}

bool Holdings::is_at(std::uint32_t shard, const Position& position) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(shard);
  return found != held_.end() && found->second.reading == position;
}

void Holdings::store(std::uint32_t shard, const TriggerRow& row) {
  const std::lock_guard lock(mutex_);
  if (const auto found = held_.find(shard); found != held_.end()) {
    found->second.row = row;
    found->second.in_hand = false;
    note(shard, row);
  }
}

void Holdings::rewind() {
  const std::lock_guard lock(mutex_);
  for (auto& [shard, held] : held_) {
    held.reading = held.row.position;
    held.in_hand = false;
  }
}

}  // namespace looseleaf::trigger

// What went wrong in the attempts to write a batch, and which writes are tried together because of that.
#include "write/failed_attempts.hpp"

#include <fmt/format.h>

#include <utility>

namespace looseleaf::write {
namespace {

// Returns the shard of the items that is named, or all their shards.
std::vector<std::uint32_t> concerned(const Items& items, std::optional<std::uint32_t> named) {
  std::vector<std::uint32_t> shards;
  for (const auto& [shard, of_shard] : by_shard(items)) {
    if (named == shard) {
      return {shard};
    }
    shards.push_back(shard);
  }
  return shards;
}

}  // namespace

void FailedAttempts::note(std::span<const std::uint32_t> shards, const Error& error) {
  last_ = error;
  for (const std::uint32_t shard : shards) {
    of_shards_.insert_or_assign(shard, error);
  }
}

void FailedAttempts::note(const Items& items, std::optional<std::uint32_t> named, const Error& error) {
  std::vector<std::uint32_t> shards = concerned(items, named);
  if (named && !shard::may_be_one_shards(error)) {
    shards.clear();
    const server::Connector& connector = shards_.sessions().connector();
    for (const auto& [shard, of_shard] : by_shard(items)) {
      if (connector.server_of(shard) == connector.server_of(*named)) {
        shards.push_back(shard);
      }
    }
  }
  note(shards, error);
}

void FailedAttempts::separate(const Items& items, std::optional<std::uint32_t> named) {
  const std::vector<std::uint32_t> shards = concerned(items, alone_.empty() ? named : std::nullopt);
  alone_.insert(shards.begin(), shards.end());
}

std::vector<Items> FailedAttempts::groups(const Items& items) const {
  if (alone_.empty()) {
    return {items};
  }
  std::vector<Items> groups;
  Items together;
  for (const auto& [shard, of_shard] : by_shard(items)) {
    if (alone_.contains(shard)) {
      groups.push_back(of_shard);
    } else {
      together.insert(together.end(), of_shard.begin(), of_shard.end());
    }
  }
  if (!together.empty()) {
    groups.insert(groups.begin(), std::move(together));
  }
  return groups;
}

Error FailedAttempts::why_not_stored(std::uint32_t shard) const {
  const auto own = of_shards_.find(shard);
  if (own != of_shards_.end()) {
    return own->second;
  }
  Error::Context context = shards_.where(shard);
  const auto other = server::shard_named_by(*last_);
  context.emplace_back("reason", other ? fmt::format("shard {}: {}", *other, last_->what()) : last_->what());
  return {last_->code(), "not stored before the timeout", std::move(context), last_->hint()};
}

}  // namespace looseleaf::write

// What went wrong in the attempts to write a batch, and which writes are tried together because of that.
#include "write/failed_attempts.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace looseleaf::write {
namespace {

// Returns the shards of the items that an error names, or all their shards.
std::vector<std::uint32_t> concerned(const Items& items, const std::function<bool(std::uint32_t shard)>& is_named) {
  std::vector<std::uint32_t> named, all;
  for (const auto& [shard, of_shard] : by_shard(items)) {
    all.push_back(shard);
    if (is_named(shard)) {
      named.push_back(shard);
    }
  }
  return named.empty() ? all : named;
}

}  // namespace

void FailedAttempts::note(std::span<const std::uint32_t> shards, const Error& error) {
  last_ = error;
  for (const std::uint32_t shard : shards) {
    of_shards_.insert_or_assign(shard, error);
  }
}

void FailedAttempts::note(const Items& items, std::optional<std::uint32_t> named, const Error& error) {
  const server::Connector& connector = shards_.sessions().connector();
  const bool of_one_shard = shard::may_be_one_shards(error);
  const auto shares_server = [&](std::uint32_t shard) {
    return named && shard != named && !of_one_shard && connector.server_of(shard) == connector.server_of(*named);
  };
  last_ = error;
  for (const std::uint32_t shard : concerned(items, [&](auto one) { return named == one || shares_server(one); })) {
    of_shards_.insert_or_assign(shard,
                                shares_server(shard) ? server::error_of_shard(shards_.cluster(), shard, error) : error);
  }
}

void FailedAttempts::separate(const Items& items, std::optional<std::uint32_t> named) {
  const std::vector<std::uint32_t> shards =
      concerned(items, [&](std::uint32_t shard) { return alone_.empty() && named == shard; });
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

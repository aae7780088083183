// What went wrong in the attempts to write a batch, and which writes are tried together because of that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "shard/shards.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

class FailedAttempts {
 public:
  explicit FailedAttempts(const shard::Shards& shards) : shards_(shards) {}

  // True if any attempt has failed.
  [[nodiscard]] explicit operator bool() const { return last_.has_value(); }

  // Notes an error whose shard is not known, or counts for all.
  void note(const Error& error) { last_ = error; }
  // Notes an error of these shards.
  void note(std::span<const std::uint32_t> shards, const Error& error);
  // Notes the error of an attempt with these items: it concerns the shard of theirs that it names, or else all of them;
  // an error of a server concerns all their shards there.
  void note(const Items& items, std::optional<std::uint32_t> named, const Error& error);

  // Notes that the shard's items are tried alone from now on, so that others need not wait for it.
  void separate(std::uint32_t shard) { alone_.insert(shard); }
  // The same for the shard that the error of an attempt with these items names. If it is not the first one, then for
  // all their shards, because each attempt finds only one of those that fail.
  void separate(const Items& items, std::optional<std::uint32_t> named);

  // Returns the items that go into one transaction each: first those of all shards that are not tried alone.
  [[nodiscard]] std::vector<Items> groups(const Items& items) const;

  // Returns why writes to this shard were not stored: its last error, or that of another one, which it has waited for.
  [[nodiscard]] Error why_not_stored(std::uint32_t shard) const;

 private:
  const shard::Shards& shards_;
  std::optional<Error> last_;
  std::map<std::uint32_t, Error> of_shards_;  // the last one of each
  std::set<std::uint32_t> alone_;
};

}  // namespace looseleaf::write

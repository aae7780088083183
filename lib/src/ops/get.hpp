// Reading entities by id.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/datastore.hpp>
#include <map>
#include <mutex>
#include <span>

#include "store/shards.hpp"

namespace looseleaf::ops {

// The shards that could not be asked, for whoever goes on without them. Thread-safe.
class Unavailable {
 public:
  void add(std::uint32_t shard, const Error& error);
  [[nodiscard]] bool has(std::uint32_t shard) const;
  // Why each could not be asked.
  [[nodiscard]] std::map<std::uint32_t, Error> shards() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Error> shards_;
};

// Entities in the order asked, one by one, until `on_result` returns false; all shards are asked at once, for some
// hundreds of ids at a time. In memory are some MiB of bodies, or a single one that is larger. With `unavailable` the
// ids of shards that cannot be asked are passed over, and the shards noted there; without, that is an error.
void get_each(store::Shards& shards, std::span<const Uuid> ids, const std::function<bool(GetResult)>& on_result,
              Unavailable* unavailable = nullptr);

}  // namespace looseleaf::ops

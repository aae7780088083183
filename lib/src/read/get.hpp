// Reading entities by id.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/entity.hpp>
#include <map>
#include <mutex>
#include <span>

#include "shard/shards.hpp"

namespace looseleaf::read {

// The shards that cannot be asked, for whoever goes on without them: each is tried in vain once. Thread-safe.
class Unavailable {
 public:
  using Shards = std::map<std::uint32_t, Error>;  // and why

  Unavailable() = default;
  // Known to be down, but not missed yet.
  explicit Unavailable(Shards down) : down_(std::move(down)) {}

  // One that was asked in vain.
  void add(std::uint32_t shard, const Error& error);
  // For whoever wants something of a shard: why it is not to be asked, absent if it is. Then it is missed.
  std::optional<Error> lacks(std::uint32_t shard);
  [[nodiscard]] Shards missed() const;
  [[nodiscard]] Shards down() const;

 private:
  mutable std::mutex mutex_;
  Shards down_, missed_;
};

// Entities in the order asked, one by one, until `on_result` returns false; all shards are asked at once, for some
// hundreds of ids at a time. In memory are some MiB of bodies, or a single one that is larger. Ids of shards that
// cannot be asked are passed over if a part will do, else each comes with the error.
enum class Wanted { all, part };
struct GetHooks {
  // Is given each text when it is read, before the first result that holds it; by several threads at once.
  std::function<void(const Uuid& id, const std::string& text)> text;
  // Asked for each of `ids` in turn, by its place: whether to pass over it after all.
  std::function<bool(std::size_t at)> skip;
};
void get_each(shard::Shards& shards, std::span<const Uuid> ids, const std::function<bool(GetResult)>& on_result,
              Unavailable& unavailable, Wanted wanted, const GetHooks& hooks = {});

}  // namespace looseleaf::read

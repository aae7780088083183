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

// The shards that are down, for reads that go on without them. Each is tried in vain only once. Thread-safe.
class Unavailable {
 public:
  using Shards = std::map<std::uint32_t, Error>;  // with the reason

  Unavailable() = default;
  // Starts with shards that are known to be down. They count as missed only after record_miss().
  explicit Unavailable(Shards down) : down_(std::move(down)) {}

  // Adds a shard that was tried in vain. It counts as missed.
  void add(std::uint32_t shard, const Error& error);
  // To be called before a shard is used. If the shard is down, records that its results are missing and returns the
  // reason; otherwise returns nothing.
  std::optional<Error> record_miss(std::uint32_t shard);
  [[nodiscard]] Shards missed() const;
  [[nodiscard]] Shards down() const;

 private:
  mutable std::mutex mutex_;
  Shards down_, missed_;
};

// Reads entities in the order of `ids`, one by one, until `on_result` returns false. All shards are queried at once,
// for a few hundred ids at a time. Memory holds a few MiB of bodies, or one larger body. If a shard is down, its ids
// are skipped with Wanted::part; with Wanted::all their results hold the error.
enum class Wanted { all, part };
struct GetHooks {
  // Called with each text when it is read, before the first result that holds it, by several threads at once. If it
  // throws an Error, the result holds that instead; the hook is called a second time then.
  std::function<void(const Uuid& id, const std::string& text)> text;
  // Called for each position in `ids` in order. If it returns true, the id is skipped.
  std::function<bool(std::size_t at)> skip;
};
// For GetHooks::text. Throws Error(corrupt) if the text is no JSON object, or has another entity's id.
void require_entity(const Uuid& id, const std::string& text);
void get_each(shard::Shards& shards, std::span<const Uuid> ids, const std::function<bool(GetResult)>& on_result,
              Unavailable& unavailable, Wanted wanted, const GetHooks& hooks = {}, Stamps stamps = Stamps::leave_out);

}  // namespace looseleaf::read

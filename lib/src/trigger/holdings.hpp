// The shards that this process holds for a trigger: how far each was stored, and how far it was read beyond that.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "feed/position.hpp"
#include "trigger/trigger_row.hpp"

namespace looseleaf::trigger {

// How far a trigger is known to have come on a shard. A later row of the same generation that is behind it is an older
// copy.
struct Known {
  std::uint64_t generation = 0;
  std::optional<shard::StampPlace> place = {};
};

// Thread-safe. The thread that divides the shards adds and removes them at any time; the thread that has the batch in
// hand moves what is in it.
class Holdings {
 public:
  using Position = std::optional<feed::ShardPosition>;

  // Begins to hold a shard, with its row. Reading goes on at the row's position.
  void hold(std::uint32_t shard, const TriggerRow& row);
  // The shard belongs to another process now.
  void lose(std::uint32_t shard);
  // The same, unless changes of the shard are in the batch in hand. If they are, returns false, and nothing more of the
  // shard is put into a batch after this one, so that the shard can go soon.
  [[nodiscard]] bool let_go(std::uint32_t shard);
  // The shard need not go any more.
  void keep(std::uint32_t shard);

  [[nodiscard]] bool holds(std::uint32_t shard);
  [[nodiscard]] std::vector<std::uint32_t> held();
  [[nodiscard]] std::vector<std::uint32_t> held_of(std::span<const std::uint32_t> shards);
  // Returns how far the shard was read.
  [[nodiscard]] Position reading(std::uint32_t shard);
  // Returns the row as it was stored last; absent unless the shard is held.
  [[nodiscard]] std::optional<TriggerRow> row(std::uint32_t shard);
  [[nodiscard]] Known known(std::uint32_t shard);

  // Puts what is between the two positions into the batch in hand. Returns false if the shard is to go, is not held,
  // or was read up to another position: it was lost meanwhile, and perhaps taken again.
  [[nodiscard]] bool move(std::uint32_t shard, const Position& from, const Position& to);
  [[nodiscard]] bool is_at(std::uint32_t shard, const Position& position);
  // The shard's row was stored with what is in the batch in hand.
  void store(std::uint32_t shard, const TriggerRow& row);
  // Gives up the batch in hand: its changes will be read again.
  void rewind();

 private:
  struct Held {
    TriggerRow row;
    Position reading;
    bool leaving = false;
    bool in_hand = false;  // whether the batch in hand leads from the row's position to `reading`
  };

  void note(std::uint32_t shard, const TriggerRow& row);

  std::mutex mutex_;  // guards the members below
  std::map<std::uint32_t, Held> held_;
  std::map<std::uint32_t, Known> known_;  // also of shards that were lost
};

}  // namespace looseleaf::trigger

// Comparing two stores: do they hold the same entities? docs/operations.md says what a comparison promises.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/export.hpp>
#include <looseleaf/jobs.hpp>
#include <looseleaf/status.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <string>
#include <vector>

namespace looseleaf {

enum class DifferenceKind {
  missing,           // this store has the entity, the other one has not
  extra,             // the other store has the entity, this one has not
  different,         // both have the entity, with different texts
  unreadable,        // the body in this store is damaged
  other_unreadable,  // the body in the other store is damaged
  unsettled,         // not known: the entity was written all the time, or the copy is late
};

[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(DifferenceKind kind);

struct Difference {
  DifferenceKind kind = DifferenceKind::missing;
  Uuid entity_id;
  std::uint32_t shard = 0;        // where the entity is, or would be, in this store
  std::uint32_t other_shard = 0;  // the same for the other store
  std::string reason;             // of the last three kinds, a sentence; else empty
};

struct CompareOptions {
  // If the other store is a copy that follows this one, a comparison waits at most this long until the copy has reached
  // what differs. Otherwise a difference counts only if neither store has changed it for this long.
  std::uint32_t grace_seconds = 10;
  Throttle throttle = {};  // applies to each of the stores
  // Called with each difference once it is certain, one call at a time, from any thread. May throw.
  std::function<void(const Difference&)> on_difference = {};
  // Called once, before the first wait, with the most that it takes.
  std::function<void(std::chrono::seconds)> on_wait = {};
};

struct CompareReport {
  struct Count {
    std::uint64_t entities = 0;  // in this store
    std::map<DifferenceKind, std::uint64_t> differences;
  };
  std::map<std::uint32_t, Count> shards;  // by shard of this store, all of them
  std::uint64_t entities = 0;             // in this store, without tombstones
  std::uint64_t other_entities = 0;       // the same for the other store
  std::uint64_t looked_again = 0;         // entities compared one by one because the digest of their group differed
  std::uint64_t in_flight = 0;            // of these, entities that differed at first and agreed later
  std::uint64_t found = 0;                // differences, without unsettled entities
  std::uint64_t unsettled = 0;            // entities of that kind
  bool follows = false;                   // the other store is a copy that follows this one
  std::vector<DeclaredIndex> indexes;     // indexes of the other store that are not as they are in this one

  // Returns true if both stores hold the same entities.
  [[nodiscard]] bool same() const { return found == 0 && unsettled == 0; }
};

}  // namespace looseleaf

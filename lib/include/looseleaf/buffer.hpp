// Entities that were accepted while a server was down, until they are stored.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <string>

namespace looseleaf {

struct FlushReport {
  std::uint64_t stored = 0;    // buffered writes that were stored, or whose text was stored already
  std::uint64_t refused = 0;   // that cannot be stored: see RefusedWrite
  std::uint64_t left = 0;      // that are still buffered, because a shard does not answer or the store is frozen
  bool left_is_known = false;  // false if a shard could not say what it has, or the flush was stopped
  // Why, by the shard of the entities, or the shard that has buffered writes and does not answer.
  std::map<std::uint32_t, Error> failures;
};

// An entity that was buffered, and acknowledged as buffered, but cannot be stored. It is kept until somebody decides.
struct RefusedWrite {
  Uuid id;
  std::string accepted;  // when it was buffered, in UTC
  std::string reason;    // "the entity exists already, with another text"
  std::string text;      // empty if its body cannot be read
};

}  // namespace looseleaf

// The feed: all entities of a store, and then everything that changes. It can be interrupted anywhere and continued,
// and misses nothing. docs/feed.md says what exactly it promises.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace looseleaf {

// The latest version of one entity when it was read.
struct Change {
  enum class Kind {
    stored,      // `text` is the entity's JSON
    deleted,     // the entity was deleted
    no_match,    // the entity does not match `where`; it may have matched before
    unreadable,  // the entity's body is damaged; `text` is the reason
  };

  Kind kind = Kind::stored;
  Uuid id;
  std::uint32_t shard = 0;
  // UTC: "2026-01-31 12:00:00.000001". The stamps of an entity strictly increase, so of two changes of one entity the
  // one with the greater stamp is the later one.
  std::string stamp;
  std::string text = {};
};

// Changes of one shard, in the order of the feed. `changes` is valid until the function that it is passed to returns.
struct ChangeBatch {
  std::span<const Change> changes;
  // Returns the position after this batch, whenever and by whatever thread it is called. It is longer the more shards
  // there are: about 55 bytes for each, and 76 while all entities are read.
  std::function<std::string()> position;
};

struct FeedOptions {
  // A position that an earlier call returned; "beginning" for all entities and then everything that changes; or "now"
  // for what changes from now on.
  std::string after = "beginning";
  std::optional<std::uint32_t> shard = {};  // read only from this shard
  std::vector<Condition> where = {};        // see Query::where
  std::uint64_t limit = 0;                  // the most changes to deliver; 0 delivers all
  // Called from time to time, by several threads at once, even while there is nothing to deliver. If it returns true,
  // the call ends.
  std::function<bool()> stop = {};
};

struct ChangesOptions : FeedOptions {
  bool follow = false;  // wait for further changes until stopped; throws Error(moved) where none will come
  // With `follow`: called with the error when a shard begins to fail, which is tried again every second, and with null
  // when it works again. Without this function, and for failures that do not pass, the call throws.
  std::function<void(std::uint32_t shard, const Error* failure)> on_failure = {};
};

struct FeedReport {
  std::uint64_t stored = 0, deleted = 0, no_match = 0, unreadable = 0;  // the numbers of delivered changes, by kind
  std::string position;                                                 // after everything that was delivered
};

}  // namespace looseleaf

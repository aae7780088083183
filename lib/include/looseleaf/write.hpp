// The condition of a put or a delete, and its outcome.
#pragma once

#include <cstdint>
#include <looseleaf/entity_reader.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <string>

namespace looseleaf {

// What must be true of an entity for a write of it to be stored. It is decided while the entity is locked: nobody else
// writes it between the decision and the commit.
struct WriteCondition {
  enum class Kind {
    none,       // the write is stored in any case
    absent,     // no entity has this id
    unchanged,  // the last version with this id, an entity or its deletion, has this stamp
  };

  Kind kind = Kind::none;
  std::string stamp = {};  // with `unchanged`: as in GetResult and Change
  // With `absent`: if a server is down that the write needs, the entity is buffered on other servers, and is stored by
  // Datastore::flush() or clean(). The condition is decided then.
  bool buffer = false;

  bool operator==(const WriteCondition&) const = default;
};

// The outcome of one write.
enum class WriteStatus {
  stored,     // the entity was stored or deleted, durably
  buffered,   // the entity is kept, durably, on other servers, until it can be stored; see WriteCondition::buffer
  not_found,  // a delete found no entity with this id
  exists,     // nothing was stored, because the entity should have been absent
  changed,    // nothing was stored, because the entity has another stamp, or its deletion was purged
  unchanged,  // nothing was stored, because merge() or update() has made the same text again
  rejected,   // the entity cannot be stored (error: bad_entity or refused)
  failed,   // the entity was not stored because a server failed (error: unavailable, server, ...), the store is frozen
            // (error: frozen), or it has moved to another cluster (error: moved)
  unknown,  // the outcome of a COMMIT is unknown (error: outcome_unknown)
};

struct WriteResult {
  std::uint64_t sequence = 0;  // 0 for the stream's first put() or remove(), 1 for the second, and so on
  Position position;           // the position that was given to put() or remove()
  WriteStatus status = WriteStatus::stored;
  std::optional<Uuid> id;      // absent only if the text was rejected before its id was known
  std::optional<Error> error;  // set with status rejected, failed and unknown
  bool same_text = false;      // with `exists`: the stored entity has exactly the given text
  std::optional<Uuid> holder;  // with `rejected`: the entity that has the same values in a unique index
  // The given text, if a put was not stored. If the outcome is unknown, it has the id that the entity was given, so
  // that putting it again cannot store it twice.
  std::string text;
};

}  // namespace looseleaf

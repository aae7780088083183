// What becomes of a put or a delete.
#pragma once

#include <cstdint>
#include <looseleaf/entity_reader.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <string>

namespace looseleaf {

// What became of one write.
enum class WriteStatus {
  stored,     // durable: the entity is stored, or deleted
  not_found,  // a delete of an id that is not there
  rejected,   // this entity cannot be stored (error: bad_entity or refused)
  failed,     // not stored: a server failed (error: unavailable, server, ...)
  unknown,    // a COMMIT's outcome stayed unknown (error: outcome_unknown)
};

struct WriteResult {
  std::uint64_t sequence = 0;  // 0 for the first put() or remove() of the stream, then counting up
  Position position;           // as given to put() or remove()
  WriteStatus status = WriteStatus::stored;
  std::optional<Uuid> id;      // absent only if the text was rejected before an id was known
  std::optional<Error> error;  // with status rejected, failed and unknown
  std::string text;            // of a put that was not stored: the text as given
};

}  // namespace looseleaf

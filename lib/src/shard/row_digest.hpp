// A digest of index rows that the client and the servers compute alike, so that equal tables need not be read twice.
#pragma once

#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <string>

#include "shard/index_rows.hpp"
#include "sql/connection.hpp"

namespace looseleaf::shard {

// How many rows there are, and the XOR of their mixes.
struct RowDigest {
  std::uint64_t rows = 0;
  std::uint64_t mix = 0;

  bool operator==(const RowDigest&) const = default;
};

// The mix of a row is CRC32(t) * CRC32(REVERSE(t)), where t holds each value and the entity_id so that no two rows have
// the same: MySQL 9 has no MD5 or SHA1, and the XOR of plain CRCs, which are linear, stays the same when two rows
// swap their values. Two different rows have the same CRC forwards and backwards once in 2^64.
class RowMixer {
 public:
  [[nodiscard]] std::uint64_t mix(const model::Row& values, const Uuid& entity_id);

 private:
  std::string text_, reversed_;
};

// False if a property is a double: servers print these differently. Such rows have to be read to be digested.
[[nodiscard]] bool servers_can_digest(const IndexDefinition& definition);

// The digest of the rows in a range, computed by the server over the covering key on entity_id.
[[nodiscard]] RowDigest digest_entries(sql::Connection& connection, const IndexDefinition& definition,
                                       const IdRange& range);

}  // namespace looseleaf::shard

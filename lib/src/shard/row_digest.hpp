// A digest of index rows that the client and the servers compute in the same way, so that equal tables need not be read
// row by row.
#pragma once

#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <span>
#include <string>
#include <vector>

#include "server/sessions.hpp"
#include "shard/index_rows.hpp"

namespace looseleaf::shard {

// The number of rows, and the XOR of their mixes.
struct RowDigest {
  std::uint64_t rows = 0;
  std::uint64_t mix = 0;

  bool operator==(const RowDigest&) const = default;
};

// The mix of a row is CRC32(t) * CRC32(REVERSE(t)). The text t holds each value and the entity_id in such a way that no
// two rows have the same text. MD5 and SHA1 are not available in MySQL 9. The XOR of plain CRCs, which are linear,
// stays the same when two rows swap their values. Two different rows have the same CRC forwards and backwards with a
// probability of 1 in 2^64.
class RowMixer {
 public:
  [[nodiscard]] std::uint64_t mix(const model::Row& values, const Uuid& entity_id);

 private:
  std::string text_, reversed_;
};

// Returns false if a property is a double, because servers print doubles differently. The client must read such rows to
// digest them.
[[nodiscard]] bool servers_can_digest(const IndexDefinition& definition);

// Returns the digests of the rows in a range, for shards of one server, in their order. The server computes them from
// the covering keys on entity_id.
[[nodiscard]] std::vector<RowDigest> digest_entries(server::Lease& lease, std::span<const std::uint32_t> shards,
                                                    const IndexDefinition& definition, const IdRange& range);

}  // namespace looseleaf::shard

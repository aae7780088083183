// Compares all entities with all rows of some indexes and reports the entities whose rows seem wrong. The comparison
// locks nothing, so on a live store some of the reported entities are merely changing.
//
// The comparison reads bodies in insertion order because the server stores them in that order. In id order, each body
// would need a lookup of its own and, on a store larger than memory, a disk read. The comparison folds the expected
// rows into digests by range of ids (digest_grid.hpp). Then the servers digest the rows of each range. The comparison
// reads rows only in ranges whose digests differ, and it reads both sides together again only for the entities in cells
// that differ.
//
// The comparison misses no wrong row. A row has one entity id, so it belongs to one range and one cell. The ranges
// cover all ids that an entity or a row has when the comparison begins. So it does not compare, one by one, all
// entities that are stored meanwhile, whose new ids are greater. Suppose that a row is wrong during the whole
// comparison: the row is absent although its entity calls for it, or it is present although no entity calls for it.
// Then the row is on only one side of its cell, no matter when the two sides were read and no matter which other rows
// changed meanwhile. Therefore the digests differ, the comparison reads the cell again, and again finds the row on one
// side only. The comparison may or may not report a row that becomes wrong, or right, during the comparison.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "job/job.hpp"
#include "shard/catalog.hpp"
#include "shard/shards.hpp"
#include "verify/digest_grid.hpp"

namespace looseleaf::verify {

// The comparison never calls one of these functions while the other one runs. Both may throw, which ends the
// comparison.
struct ComparisonVisitor {
  // Receives entities whose rows differ from the rows they call for, and ids of rows that seem to have no entity. Runs
  // on the thread that called compare_digests().
  std::function<void(const std::vector<Uuid>&)> suspects;
  // Receives findings of the kinds unreadable, wrong_id and wrong_shard, which were seen under the entity's lock. Runs
  // on any thread.
  std::function<void(const Finding&)> broken_entity;
};

struct ComparisonCounts {
  std::uint64_t entities = 0, deleted = 0;
  std::uint64_t compared_by_row = 0;                                    // ids in cells that differed
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> rows;  // by index and shard
  std::map<std::string, IndexingCounts> indexing;                       // by index; empty with `scanned`
};

// Returns an empty grid for these indexes. Each of its ranges has as many ids as one step should process.
DigestGrid make_grid(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes, job::Job& job);

// `scanned` is a grid from make_grid() for the same indexes that already contains the rows all entities call for. With
// it, the comparison reads only the bodies in cells that differ, reports no broken entities and counts no entities. It
// also compares the rows of greater ids than existed when the grid was made.
ComparisonCounts compare_digests(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes, job::Job& job,
                                 const ComparisonVisitor& visitor, const DigestGrid* scanned = nullptr);

}  // namespace looseleaf::verify

// Compares all entities with all rows of some indexes and names the entities whose rows do not look right. Nothing is
// locked, so on a live store some of them are merely changing.
//
// Bodies are read in the order in which they were added, which is the order they are stored in; by id each would cost a
// look-up of its own, and on a store larger than memory a read from the disk. Expected rows are folded into digests by
// range of ids (digest_grid.hpp). Then the servers digest the rows of each range; only where these differ are rows
// read, and only for the entities in cells that differ are both sides read again, together.
//
// Nothing is passed over. A row has one entity id, thus one range and one cell, and the ranges cover all ids: an id
// that no entity has is in one too. Say that a row is wrong during the whole comparison: it is absent though its entity
// calls for it, or is there although no entity does. Then it is on one side of its cell only, at whatever moments the
// two were read and whatever else changed meanwhile; so the digests differ, the cell is looked at, and there again the
// row is on one side only. A row that becomes wrong, or right, during the comparison may be named or not.
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

// Neither of these is called while the other one runs. Both may throw, which ends the comparison.
struct ComparisonVisitor {
  // Entities whose rows differ from what they call for, and ids of rows that seem to have no entity. On
  // compare_digests()'s thread.
  std::function<void(const std::vector<Uuid>&)> suspects;
  // unreadable, wrong_id, wrong_shard: seen under the entity's lock. On any thread.
  std::function<void(const Finding&)> broken_entity;
};

struct ComparisonCounts {
  std::uint64_t entities = 0;
  std::uint64_t looked_again = 0;                                       // ids in cells that differed
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> rows;  // per index and shard
};

// A grid for these indexes with nothing in it yet, whose ranges have as many ids as should be dealt with at once.
DigestGrid make_grid(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes, job::Job& job);

// `scanned`: such a grid of the same indexes, with what all entities call for. Then no bodies are read but those in
// cells that differ, none is found broken, and no entities are counted.
ComparisonCounts compare_digests(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes, job::Job& job,
                                 const ComparisonVisitor& visitor, const DigestGrid* scanned = nullptr);

}  // namespace looseleaf::verify

// Compares the entities of two stores, whatever their numbers of shards, servers and vendors.
#pragma once

#include <looseleaf/compare.hpp>

#include "shard/shards.hpp"

namespace looseleaf::compare {

// See Datastore::compare. The comparison changes and locks nothing.
//
// It reads both stores once, each in the order in which it stores entities, and adds digests of the texts by cells of
// ids. If a cell differs, it reads the ids of both stores, and both sides of each entity in such a cell. What still
// differs is a suspect (settlement.hpp).
//
// It misses no entity that differs all the time: each contributes something other than 0 to its cell, so the cell
// differs, and the entity is compared by itself.
CompareReport compare(shard::Shards& here, shard::Shards& there, const CompareOptions& options, JobControl& control);

}  // namespace looseleaf::compare

// Which indexes can be verified: those that all shards agree about, with tables as declared.
#pragma once

#include <functional>
#include <looseleaf/jobs.hpp>
#include <vector>

#include "shard/catalog.hpp"
#include "shard/shards.hpp"
#include "verify/findings.hpp"
#include "verify/verify.hpp"

namespace looseleaf::verify {

// The indexes asked for whose catalogs and tables are in order; what is not in order is a finding, and what is not what
// options.definitions declare is one too. Throws Error(bad_index) for an index that was named and is unknown or not in
// force.
[[nodiscard]] std::vector<shard::CatalogIndex> verifiable_indexes(shard::Shards& shards, const VerifyOptions& options,
                                                                  job::Job& job, const AsPart& as_part,
                                                                  Findings& findings);

}  // namespace looseleaf::verify

// Checks what a verification rests on, and chooses the indexes that can be verified: all shards agree about them, and
// their tables match the definitions.
#pragma once

#include <functional>
#include <looseleaf/jobs.hpp>
#include <vector>

#include "shard/catalog.hpp"
#include "shard/shards.hpp"
#include "verify/findings.hpp"
#include "verify/verify.hpp"

namespace looseleaf::verify {

// Compares tables of all shards with the statements that create them. Returns the differences by table and shard.
[[nodiscard]] std::vector<Finding> table_differences(
    shard::Shards& shards, job::Job& job,
    const std::function<std::vector<std::string>(sql::Flavour)>& create_statements);

// Compares `entities` and the tool's other tables on every shard with the statements that create them. Every difference
// is a finding; if there is one, nothing else can be verified.
[[nodiscard]] bool tool_tables_are_in_order(shard::Shards& shards, const VerifyOptions& options, job::Job& job,
                                            Findings& findings);

// Returns the requested indexes whose catalogs and tables are in order. Everything else is a finding, including a
// difference from the declarations in options.definitions. Throws Error(bad_index) for a named index that is unknown or
// not active.
[[nodiscard]] std::vector<shard::CatalogIndex> verifiable_indexes(shard::Shards& shards, const VerifyOptions& options,
                                                                  job::Job& job, const AsPart& as_part,
                                                                  Findings& findings);

}  // namespace looseleaf::verify

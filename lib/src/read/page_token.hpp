// Where a page of a query ended, as an opaque text that fits a command line.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/query.hpp>
#include <string>

#include "shard/index_rows.hpp"

namespace looseleaf::read {

// The last index row that was dealt with, bound to the definition, the conditions and the order of the query.
[[nodiscard]] std::string make_token(const IndexDefinition& definition, const Query& query,
                                     const shard::IndexEntry& last);

// Throws Error(usage) for what make_token() did not give for this query.
[[nodiscard]] shard::IndexEntry parse_token(const IndexDefinition& definition, const Query& query,
                                            const std::string& token);

}  // namespace looseleaf::read

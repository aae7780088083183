// Encodes where a page of a query ended as an opaque text that fits on a command line.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/query.hpp>
#include <string>

#include "shard/index_rows.hpp"

namespace looseleaf::read {

// Encodes the place of the last index row that was processed. The token is valid only for this definition, these
// conditions and this order.
[[nodiscard]] std::string make_token(const IndexDefinition& definition, const Query& query,
                                     const shard::IndexEntry& last);

// Decodes a token. The values of properties before the first one of the order are not in it. Throws Error(usage) if
// make_token() did not return it for this query.
[[nodiscard]] shard::IndexEntry parse_token(const IndexDefinition& definition, const Query& query,
                                            const std::string& token);

}  // namespace looseleaf::read

// What a server answers counts only if it was writable after it had read the answer. A failover makes the old primary
// read-only before another server takes its place, so until then there was no other one.
#pragma once

#include <string>

#include "sql/database.hpp"

namespace looseleaf::shard {

// Throws a retryable ServerError and ends the connection if `read_only`, the server's @@global.read_only, shows that
// the server was demoted. Neither the session's locks nor what it has read are valid then.
void require_writable(const sql::Database& database, const std::string& read_only);

// Asks the server and does the same. Also throws a retryable ServerError if the connection was lost.
void require_still_writable(const sql::Database& database);

}  // namespace looseleaf::shard

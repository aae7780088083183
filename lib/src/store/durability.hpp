// Knowing that what was read will not be forgotten.
#pragma once

#include "sql/connection.hpp"

namespace looseleaf::store {

// Returns when everything that this session could see before the call is on the server's disk. That does not follow
// from having seen it, nor from having locked it: a server shows a commit, and lets go of its locks, before its log is
// written, and if the server dies in between, there was no such commit. Not for use in a transaction.
void make_durable(sql::Connection& connection);

}  // namespace looseleaf::store

// The part of the checker that looks at several entities: keys, of which no two entities may have the same.
#pragma once

#include <string>
#include <vector>

#include "tests/proof/history_checker.hpp"

namespace looseleaf::test {

// Keys that two entities had at the same time, and puts that were rejected because of an entity that had another key, a
// sentence each.
[[nodiscard]] std::vector<std::string> wrong_keys(const std::vector<Operation>& history);

}  // namespace looseleaf::test

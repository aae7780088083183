// The part of the checkers that looks at several entities: keys, of which no two entities may have the same. It looks
// at two writes at a time, so that it is quick: it may miss a fault that three of them make, and reports none that is
// none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/proof/history_checker.hpp"

namespace looseleaf::test {

struct WrongKey {
  std::string sentence;
  std::vector<std::string> ids;  // of which it speaks
};

// Keys, values of this property, that two entities had at the same time, and puts that were rejected because of an
// entity that had another key.
[[nodiscard]] std::vector<WrongKey> wrong_keys(const std::vector<Operation>& history, std::string_view property);

}  // namespace looseleaf::test

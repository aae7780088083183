// What becomes of several puts of one call: other entities may have their values of unique indexes, and may give them
// up in the same call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/proof/random_ops_reference.hpp"

namespace looseleaf::test {

struct ReferencePut {
  Uuid id;
  Reference::Stored entity;
  WriteResult told;
};

// Looks for an order in which each put becomes what it was told, with those of one id in the given order, and does them
// to the reference. If there is none, returns what cannot be, and leaves the reference as it may be.
[[nodiscard]] std::optional<std::string> take_puts(Reference& reference, const std::vector<ReferencePut>& puts);

}  // namespace looseleaf::test

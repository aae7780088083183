// One condition of a filter with its values read, and what an entity says to it.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/query.hpp>
#include <string>
#include <vector>

namespace looseleaf::model {

struct Criterion {
  std::string path;
  bool each = false;  // see Condition::each
  Operator op = Operator::equal;
  std::vector<Scalar> any_of;  // one of them must meet the operator; not used for Operator::exists
};

// The types of JSON values, as bits.
namespace kinds {
inline constexpr unsigned null = 1, boolean = 2, number = 4, string = 8, array = 16, object = 32;
}

struct Examined {
  unsigned found = 0;  // the types of the values that the entity has there; with `each`, of the elements
  bool meets = false;  // one of these meets the criterion
};

}  // namespace looseleaf::model

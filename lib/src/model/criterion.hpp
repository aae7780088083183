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

struct Examined {
  bool exists = false;  // the entity has a value, or with `each` an element
  bool meets = false;   // one of these meets the criterion
};

}  // namespace looseleaf::model

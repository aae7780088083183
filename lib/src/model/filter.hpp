// Conditions on properties that the index does not have. They are checked on the entity itself.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/query.hpp>
#include <map>
#include <string>
#include <vector>

#include "model/parsed_entity.hpp"

namespace looseleaf::model {

class Filter {
 public:
  // Throws Error(usage) for an operator other than equal, and for an invalid property path.
  explicit Filter(const std::vector<Condition>& conditions);

  // True if each named property has one of the values given for it.
  [[nodiscard]] bool matches(const ParsedEntity& entity) const;
  [[nodiscard]] bool empty() const { return any_of_.empty(); }

 private:
  std::map<std::string, std::vector<Scalar>> any_of_;  // by path
};

}  // namespace looseleaf::model

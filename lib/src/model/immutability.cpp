// Compares the properties of an index before and after a change.
#include "model/immutability.hpp"

#include <vector>

namespace looseleaf::model {

bool change_allowed(const IndexDefinition& definition, const ParsedEntity& before, const ParsedEntity& after) {
  if (!definition.immutable || !before.matches_where(definition)) {
    return true;
  }
  bool had_row = true;
  for (const Property& property : definition.properties) {
    const std::vector<Value> values = before.property_values(property);
    if (!values.empty() && after.property_values(property) != values) {
      return false;
    }
    had_row = had_row && !values.empty();
  }
  return !had_row || after.matches_where(definition);
}

}  // namespace looseleaf::model

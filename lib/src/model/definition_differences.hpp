// Where two definitions of one index differ.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <string>
#include <vector>

namespace looseleaf::model {

// `/properties/0/type: "int" in force, "double" given`: one for each place where they do.
[[nodiscard]] std::vector<std::string> definition_differences(const IndexDefinition& in_force,
                                                              const IndexDefinition& given);

}  // namespace looseleaf::model

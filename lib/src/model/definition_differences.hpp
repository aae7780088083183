// Lists the differences between two definitions of one index.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <string>
#include <vector>

namespace looseleaf::model {

// One text for each place where they differ: `/properties/0/type: active "int", given "double"`.
[[nodiscard]] std::vector<std::string> definition_differences(const IndexDefinition& active,
                                                              const IndexDefinition& given);

}  // namespace looseleaf::model

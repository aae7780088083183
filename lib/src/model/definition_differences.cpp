// Lists the differences between two definitions of one index.
#include "model/definition_differences.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace looseleaf::model {

std::vector<std::string> definition_differences(const IndexDefinition& active, const IndexDefinition& given) {
  const auto before = nlohmann::json::parse(active.canonical_json());
  const auto after = nlohmann::json::parse(given.canonical_json());
  std::vector<std::string> differences;
  for (const auto& change : nlohmann::json::diff(before, after)) {
    const std::string path = change["path"];
    const nlohmann::json::json_pointer place(path);
    differences.push_back(fmt::format("{}: active {}, given {}", path,
                                      change["op"] == "add" ? "nothing" : before.at(place).dump(),
                                      change["op"] == "remove" ? "nothing" : change["value"].dump()));
  }
  return differences;
}

}  // namespace looseleaf::model

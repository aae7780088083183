// Lists the differences between two definitions of one index.
#include "model/definition_differences.hpp"

#include <fmt/format.h>

#include <cmath>

#include "model/json/strict_json.hpp"

namespace looseleaf::model {
namespace {

using nlohmann::json;

// Writes as a text what the JSON library cannot show, a number of any size, or does not tell from another one: 1.0.
void show_numbers(json& value) {
  if (value.is_binary()) {
    value = "number " + *big_integer(value);
  } else if (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>()) {
    value = "number " + value.dump();
  } else if (value.is_structured()) {
    for (json& inner : value) {
      show_numbers(inner);
    }
  }
}

json parse_canonical(const IndexDefinition& definition) {
  json parsed = parse_strict(definition.canonical_json(), BigIntegers::with_all_digits);
  show_numbers(parsed);
  return parsed;
}

}  // namespace

std::vector<std::string> definition_differences(const IndexDefinition& active, const IndexDefinition& given) {
  const json before = parse_canonical(active), after = parse_canonical(given);
  std::vector<std::string> differences;
  for (const auto& change : json::diff(before, after)) {
    const std::string path = change["path"];
    const json::json_pointer place(path);
    differences.push_back(fmt::format("{}: active {}, given {}", path,
                                      change["op"] == "add" ? "nothing" : before.at(place).dump(),
                                      change["op"] == "remove" ? "nothing" : change["value"].dump()));
  }
  return differences;
}

}  // namespace looseleaf::model

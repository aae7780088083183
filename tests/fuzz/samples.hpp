// Index definitions that the targets about entities and queries share, one of each kind.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <vector>

namespace looseleaf::fuzz {

inline const std::vector<IndexDefinition>& sample_definitions() {
  static const std::vector<IndexDefinition> definitions = [] {
    std::vector<IndexDefinition> parsed;
    for (const char* text : {
             R"({"table": "by_user", "properties": [{"name": "user", "type": "uuid"}], "shard_on": "user"})",
             R"({"table": "By_Text", "properties": [{"name": "text", "type": "string", "max_length": 3}],
                 "shard_on": "text"})",
             R"({"table": "by_pair", "properties": [{"name": "n", "type": "int"}, {"name": "x", "type": "double"},
                 {"name": "yes", "type": "bool"}], "shard_on": "n"})",
             R"({"table": "by_tag", "properties": [{"name": "tags", "type": "string", "max_length": 2, "each": true},
                 {"name": "n", "type": "int"}], "shard_on": "tags"})",
             R"({"table": "by_part", "properties": [{"name": "parts.n", "type": "int", "each": true}],
                 "where": {"kind": "a", "n": 1, "gone": null, "x": 0.5, "yes": true}})",
             R"({"table": "by_odd_name", "properties": [{"name": "or`1 -- .key", "type": "string"}]})",
             R"({"table": "fixed", "properties": [{"name": "n", "type": "int"}, {"name": "text", "type": "string"}],
                 "immutable": true, "where": {"kind": "a"}})",
         }) {
      parsed.push_back(IndexDefinition::parse(text, "sample"));
    }
    return parsed;
  }();
  return definitions;
}

}  // namespace looseleaf::fuzz

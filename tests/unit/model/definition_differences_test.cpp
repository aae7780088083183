// The differences between two definitions of one index.
#include "model/definition_differences.hpp"

#include <doctest/doctest.h>

namespace looseleaf::model {
namespace {

using Texts = std::vector<std::string>;

Texts differences(const std::string& active, const std::string& given) {
  return definition_differences(IndexDefinition::parse(active, "active"), IndexDefinition::parse(given, "given"));
}

const std::string plain = R"({"table": "t", "properties": [{"name": "n", "type": "int"}]})";

TEST_CASE("definitions that mean the same have no differences, however they are written") {
  CHECK(differences(plain, plain).empty());
  CHECK(differences(plain, R"({"properties": [{"type": "int", "name": "n"}], "immutable": false, "table": "t"})")
            .empty());
}

TEST_CASE("each place where definitions differ is one text with both values") {
  CHECK(differences(plain, R"({"table": "t", "properties": [{"name": "n", "type": "double"}]})") ==
        Texts{R"(/properties/0/type: active "int", given "double")"});
  CHECK(differences(plain, R"({"table": "t", "properties": [{"name": "n", "type": "int"}], "immutable": true})") ==
        Texts{"/immutable: active nothing, given true"});
  CHECK(differences(R"({"table": "t", "properties": [{"name": "n", "type": "int"}], "where": {"k": 1}})", plain) ==
        Texts{R"(/where: active {"k":1}, given nothing)"});
  const auto where_k = [](const std::string& k) {
    return R"({"table": "t", "properties": [{"name": "n", "type": "int"}], "where": {"k": )" + k + "}}";
  };
  CHECK(differences(where_k("1"), where_k("1.0")) == Texts{R"(/where/k: active 1, given "number 1.0")"});
  CHECK(differences(plain, R"({"table": "t", "shard_on": "n", "properties": [
          {"name": "n", "type": "int"}, {"name": "b", "type": "bool"}]})")
            .size() == 2);
}

}  // namespace
}  // namespace looseleaf::model

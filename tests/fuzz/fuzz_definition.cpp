// Definition files: an accepted one is the same after its canonical form, fits the servers' limits and indexes
// anything.
#include <cstddef>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/index_definition.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "model/expected_rows.hpp"
#include "model/immutability.hpp"
#include "shard/schema.hpp"
#include "tests/fuzz/oracle.hpp"

namespace {

using namespace looseleaf;
using fuzz::require;

const nlohmann::json& sample_entity() {
  static const auto entity = nlohmann::json::parse(R"({
      "id": "00000000000000000000000000000001", "user_id": "f48b0440ca0c4f66991c4d5f6a078eaf", "kind": "a", "n": 7,
      "x": 0.5, "yes": true, "none": null, "author": {"id": 1, "name": "é"},
      "tags": ["a", "b", "a", 1, null], "parts": [{"n": 1}, {"n": "1"}, 2]})");
  return entity;
}

// Whatever stands outside backticks is the text of the statement itself.
void check_sql(const std::string& sql) {
  bool quoted = false;
  for (const char c : sql) {
    quoted = c == '`' ? !quoted : quoted;
    require(quoted || std::string_view("';\"#\\").find(c) == std::string_view::npos, "names are quoted");
  }
  require(!quoted, "quotation marks are closed");
}

void check_definition(const IndexDefinition& definition) {
  const std::string canonical = definition.canonical_json();
  require(canonical.find('\n') == std::string::npos, "the canonical form is one line");
  const IndexDefinition again = IndexDefinition::parse(canonical, "canonical");
  require(again == definition, "the canonical form means the same");
  require(again.canonical_json() == canonical, "the canonical form is its own");
  require(again.fingerprint() == definition.fingerprint(), "equal definitions have equal fingerprints");
  for (const sql::Flavour flavour : {sql::Flavour::mariadb, sql::Flavour::mysql}) {
    check_sql(shard::create_index_table(definition, flavour));
  }
  for (const model::Row& row : model::expected_rows(definition, sample_entity())) {
    require(row.size() == definition.properties.size(), "a row has a value of each property");
  }
  const model::ParsedEntity entity(sample_entity().dump());
  require(model::change_allowed(definition, entity, entity), "an entity may be put again as it is");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::optional<IndexDefinition> definition;
  try {
    definition = IndexDefinition::parse(text, "fuzzed.json");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::bad_definition, "a definition is refused as a bad definition");
    require(test::context_of(error, "file") == "fuzzed.json", "a complaint names the file");
    fuzz::require_place(error, text);
  }
  if (definition) {
    check_definition(*definition);
  }
  return 0;
}

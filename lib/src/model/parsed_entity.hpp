// An entity's JSON, parsed once: what is stored and what is about to be stored.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/indexing.hpp>
#include <looseleaf/uuid.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/criterion.hpp"
#include "model/value.hpp"

namespace looseleaf::model {

// The JSON of one entity: the id and the index rows that it calls for. Each object has its own parser, which takes 1
// MiB.
class ParsedEntity {
 public:
  // Takes a stored body, which was checked when it was put. Checks only that it is a JSON object; throws Error(corrupt)
  // if it is not. Keeps no reference to the text.
  explicit ParsedEntity(std::string_view stored);
  // Takes the stored body of this entity. Throws Error(corrupt) also if the body has another id.
  ParsedEntity(std::string_view stored, const Uuid& id);
  // Takes a text that has not been checked. Throws JsonFault where parse_strict() does. Absent if the text is no
  // object.
  [[nodiscard]] static std::optional<ParsedEntity> strict(std::string_view text);
  ParsedEntity(ParsedEntity&&) noexcept;
  ParsedEntity& operator=(ParsedEntity&&) noexcept;
  ~ParsedEntity();

  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] bool has_id() const;
  // Returns the value of `id`, if it is a UUID.
  [[nodiscard]] std::optional<Uuid> id() const;
  // Adds the member `id`, which must be absent.
  void add_id(const Uuid& id);

  // These return what the functions of expected_rows.hpp return.
  [[nodiscard]] std::vector<Row> expected_rows(const IndexDefinition& definition) const;
  [[nodiscard]] NoRow reason_for_no_row(const IndexDefinition& definition) const;
  [[nodiscard]] std::vector<NoRow> elements_left_out(const IndexDefinition& definition) const;
  [[nodiscard]] std::vector<Value> property_values(const Property& property) const;
  [[nodiscard]] Examined examine(const Criterion& criterion) const;
  [[nodiscard]] bool matches_where(const IndexDefinition& definition) const;

 private:
  struct Tree;
  explicit ParsedEntity(std::unique_ptr<Tree> tree);

  std::unique_ptr<Tree> tree_;
};

}  // namespace looseleaf::model

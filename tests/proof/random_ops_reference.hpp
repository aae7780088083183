// What a store must hold and answer, in memory and as simple as can be: written from the contract, not from the
// library.
#pragma once

#include <compare>
#include <cstdint>
#include <looseleaf/datastore.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace looseleaf::test {

// A JSON value that keeps its numbers as they are written.
struct Json {
  enum class Kind { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  bool flag = false;
  std::string text;  // of a string, or a number's literal
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  [[nodiscard]] static Json boolean(bool flag);
  [[nodiscard]] static Json number(std::string literal);
  [[nodiscard]] static Json string(std::string text);

  // Absent unless this is an object with that member.
  [[nodiscard]] const Json* member(const std::string& name) const;
  [[nodiscard]] std::string write() const;
};

// A value of a property: one alternative per PropertyType, in its order. A uuid is its 16 bytes, as a Uuid.
using PropertyValue = std::variant<Uuid, std::string, std::int64_t, double, bool>;

// A row of an index table: the values as stored, then the entity's id.
struct ReferenceRow {
  std::vector<PropertyValue> values;
  Uuid entity_id;

  auto operator<=>(const ReferenceRow&) const = default;
};

// By shard.
using ReferenceTable = std::vector<std::set<ReferenceRow>>;

// What a property, or with `each` an element of the array on its path, must be. Filters with Operator::equal for one
// path are alternatives; otherwise all must hold.
struct Filter {
  std::string path;
  Operator op = Operator::equal;
  Scalar value = {};
  bool each = false;
};
using Filters = std::vector<Filter>;

class Reference {
 public:
  struct Index {
    IndexDefinition definition;
    bool ready = false;
  };
  struct Stored {
    std::string text;
    Json json;
  };

  explicit Reference(std::uint32_t shards) : shards_(shards) {}

  // Returns what was there. Without an entity there is none afterwards.
  std::optional<Stored> store(const Uuid& id, std::optional<Stored> entity);
  // What becomes of a delete, which takes effect here if it does there. For puts see random_ops_puts.hpp.
  WriteStatus remove(const Uuid& id);
  [[nodiscard]] std::optional<std::string> get(const Uuid& id) const;
  [[nodiscard]] const std::map<Uuid, Stored>& entities() const { return entities_; }
  // Whether it ever was stored.
  [[nodiscard]] bool is_known(const Uuid& id) const { return known_.contains(id); }
  // Forgets what was removed. How many that were.
  std::size_t purge();
  [[nodiscard]] bool is_empty() const { return known_.empty(); }

  // By name.
  [[nodiscard]] std::map<std::string, Index>& indexes() { return indexes_; }
  [[nodiscard]] const std::map<std::string, Index>& indexes() const { return indexes_; }
  // The ids that an index query gives, in order, of the entities that pass `filters`; its own `where` is not read.
  [[nodiscard]] std::vector<Uuid> query(const Query& query, const Filters& filters = {}) const;
  [[nodiscard]] ReferenceTable table(const IndexDefinition& definition) const;

 private:
  const std::uint32_t shards_;
  std::map<Uuid, Stored> entities_;
  std::set<Uuid> known_;
  std::map<std::string, Index> indexes_;
};

// The value on a dotted path, through objects only; null if the path leads nowhere.
[[nodiscard]] const Json* find_path(const Json& entity, const std::string& path);
// What is at a path, or with `each` at the rest of the path in each element of the first array on it.
[[nodiscard]] std::vector<const Json*> found_at(const std::string& path, bool each, const Json& entity);
// (value, …, id), for any server.
[[nodiscard]] std::string sql_literal(const ReferenceRow& row);
// The first code points of a text.
[[nodiscard]] std::string cut(const std::string& text, std::size_t code_points);
// The values of a property, whole: one at most, or with `each` any number.
[[nodiscard]] std::vector<PropertyValue> values_of(const Property& property, const Json& entity);
// Whether it has the values that an index's `where` asks for.
[[nodiscard]] bool is_indexed(const IndexDefinition& definition, const Json& entity);
// A value as it is in a row.
[[nodiscard]] PropertyValue stored_value(const Property& property, PropertyValue value);
// The rows that an entity has for those of its values that meet the conditions, as stored.
[[nodiscard]] std::set<std::vector<PropertyValue>> rows_of(const IndexDefinition& definition, const Json& entity,
                                                           const std::vector<Condition>& conditions = {});
// The place of an entity in the order of a query, by its rows that match, of which there must be some. The values begin
// with that of the property by which the order is.
[[nodiscard]] ReferenceRow place_of(const std::set<std::vector<PropertyValue>>& rows, const IndexDefinition& definition,
                                    const Query& query, const Uuid& id);
[[nodiscard]] bool passes(const Filters& filters, const Json& entity);
// The shard of an index row with this value, as stored, of the property sharded on; or of an entity's id.
[[nodiscard]] std::uint32_t shard_of(const PropertyValue& value, std::uint32_t shards);
// Reads a value of a type from a condition's text, or a table's cell.
[[nodiscard]] PropertyValue read_value(PropertyType type, const std::string& text);

}  // namespace looseleaf::test

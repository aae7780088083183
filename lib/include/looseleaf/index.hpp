// An index, used by its name to find entities: index.get_all(store, {{"user_id", "f48b0440…"}}).
#pragma once

#include <looseleaf/datastore.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/query.hpp>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf {

// A plain value that holds only the name. It does not check that the index exists. It may be used with any store that
// has an index of that name.
class LOOSELEAF_EXPORT Index {
 public:
  // (property, value) pairs for the first properties of the index. If a property occurs several times, an entity may
  // have any of these values. A value is a text that is converted to the property's type.
  using Values = std::vector<std::pair<std::string, std::string>>;

  explicit Index(std::string table);

  [[nodiscard]] const std::string& table() const { return table_; }

  // Returns the query for the entities with these values. A range, an order, filters and a page may be added to it.
  [[nodiscard]] Query query(const Values& values = {}) const;
  // Returns the entities with these values in index order, like Datastore::get_all(query(values)).
  [[nodiscard]] std::vector<Entity> get_all(const Datastore& store, const Values& values = {}) const;

 private:
  std::string table_;
};

}  // namespace looseleaf

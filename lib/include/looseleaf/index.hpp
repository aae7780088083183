// An index by its name, to ask for entities: index.get_all(store, {{"user_id", "f48b0440…"}}).
#pragma once

#include <looseleaf/datastore.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/query.hpp>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf {

// A plain value: it holds the name, asks nobody for it, and may be used with any store that has such an index.
class LOOSELEAF_EXPORT Index {
 public:
  // (property, value) pairs, for the first properties of the index; a property given several times may have any of the
  // values. A value is a text, read as the property's type asks.
  using Values = std::vector<std::pair<std::string, std::string>>;

  explicit Index(std::string table);

  [[nodiscard]] const std::string& table() const { return table_; }

  // The query for the entities with these values; a range, an order, filters and a page may be added to it.
  [[nodiscard]] Query query(const Values& values = {}) const;
  // The entities with these values in index order, as Datastore::get_all(query(values)).
  [[nodiscard]] std::vector<Entity> get_all(const Datastore& store, const Values& values = {}) const;

 private:
  std::string table_;
};

}  // namespace looseleaf

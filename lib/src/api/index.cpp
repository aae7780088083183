// The public class Index.
#include <looseleaf/index.hpp>

namespace looseleaf {

Index::Index(std::string table) : table_(std::move(table)) {}

Query Index::query(const Values& values) const {
  Query query;
  query.index = table_;
  for (const auto& [property, value] : values) {
    query.conditions.push_back({property, Operator::equal, value});
  }
  return query;
}

std::vector<Entity> Index::get_all(const Datastore& store, const Values& values) const {
  return store.get_all(query(values));
}

}  // namespace looseleaf

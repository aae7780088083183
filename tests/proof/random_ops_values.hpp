// Random entities, index definitions and queries: few values, so that they meet, and those that are hard to get right.
#pragma once

#include <cstdint>
#include <iterator>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/query.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/proof/random_ops_reference.hpp"

namespace looseleaf::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t number() { return engine_(); }
  std::size_t below(std::size_t end) { return engine_() % end; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <typename List>
  const auto& pick(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937_64 engine_;
};

// The type that the value at a path mostly has, in entities and in definitions.
using Taste = std::map<std::string, PropertyType>;

[[nodiscard]] Taste random_taste(Random& random);
// Without an id.
[[nodiscard]] Json random_entity(Random& random, const Taste& taste);
[[nodiscard]] IndexDefinition random_definition(Random& random, const Taste& taste, const std::string& table);
// Mostly for values that the reference's entities have.
[[nodiscard]] Query random_query(Random& random, const IndexDefinition& definition, const Reference& reference);

// Of none, one or two paths, mostly with values that the reference's entities have.
[[nodiscard]] Filters random_filters(Random& random, const Reference& reference);
// As they are written in a query.
[[nodiscard]] std::vector<Condition> as_conditions(const Filters& filters);

}  // namespace looseleaf::test

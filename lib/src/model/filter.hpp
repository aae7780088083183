// Conditions on any properties of an entity. They are checked on the entity itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <looseleaf/query.hpp>
#include <vector>

#include "base/warnings.hpp"
#include "model/criterion.hpp"
#include "model/parsed_entity.hpp"

namespace looseleaf::model {

// Thread-safe.
class Filter {
 public:
  // Throws Error(usage) for a value that cannot be compared.
  explicit Filter(const std::vector<Condition>& conditions);

  // True if the entity meets all conditions; see Query::where. Notes which properties it has.
  [[nodiscard]] bool matches(const ParsedEntity& entity) const;

  enum class Reading { ended, goes_on };
  // Warns of each property that none of the entities had for which matches() was called. While the reading goes on, it
  // does so only after many entities, because the first ones may be of another kind.
  void warn_of_unknown_properties(base::Warnings& warnings, Reading reading) const;

 private:
  struct Test {
    Criterion criterion;
    bool negated = false;
    mutable std::atomic<bool> known = false;  // an entity had the property
  };

  void add(const Condition& condition);

  std::deque<Test> tests_;  // atomics cannot be moved
  mutable std::atomic<std::uint64_t> read_ = 0;
};

}  // namespace looseleaf::model

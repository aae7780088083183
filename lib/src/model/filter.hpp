// Conditions on any properties of an entity. They are checked on the entity itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <looseleaf/options.hpp>
#include <looseleaf/query.hpp>
#include <optional>
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

  // True if the entity meets all conditions; see Query::where. Notes what it has there.
  [[nodiscard]] bool matches(const ParsedEntity& entity) const;

  enum class Reading { ended, goes_on };
  // Warns of each condition that is probably a mistake: none of the entities for which matches() was called had the
  // property, or a value of the condition's type there, or the value has quotes around it or is a pattern. Warns of
  // conditions that exclude each other, too. While the reading goes on, it does so only after many entities, because
  // the first ones may be of another kind.
  void warn_of_mistakes(base::Warnings& warnings, Reading reading) const;

 private:
  struct Test {
    Criterion criterion;
    bool negated = false;
    Condition written = {};                   // the first one, if there are several values
    mutable std::atomic<unsigned> found = 0;  // see Examined
    mutable std::atomic<bool> met = false;    // by an entity
  };

  [[nodiscard]] static std::optional<Warning> mistake_in(const Test& test, Reading reading);
  [[nodiscard]] static bool exclude_each_other(const Test& lower, const Test& upper);
  void add(const Condition& condition);

  std::deque<Test> tests_;  // atomics cannot be moved
  mutable std::atomic<std::uint64_t> read_ = 0;
};

}  // namespace looseleaf::model

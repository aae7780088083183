// What was written while things crashed, and whether what is found afterwards, and what queries found meanwhile, can
// be.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/proof/history_checker.hpp"

namespace looseleaf::test {

// Entity values; absent: there is none.
using CrashValue = std::optional<std::string>;

constexpr int crash_keys = 24;  // values of `k`

[[nodiscard]] std::string crash_id(int number);
// An entity that no other write stores: `name` is the write's. Those of odd numbers have an `owner`, of an immutable
// index, that is nearly always the same. Some, above all of the recorders', have a `k`, of a unique index, of which
// there are fewer than of those.
[[nodiscard]] std::string crash_entity(int number, std::uint64_t random, const std::string& name);

// Puts and removes, by id.
using CrashWrites = std::map<std::string, std::vector<Operation>>;

struct CrashQuery {
  std::string property, value;  // one for which it asked
  long long start = 0, end = 0;
  std::map<std::string, std::string> found;  // body by id
  std::vector<std::string> twice;            // ids
};

class CrashHistory {
 public:
  // `before`: the values when the round began; absent ids have none.
  CrashHistory(const std::map<std::string, std::string>& before, const CrashWrites& writes)
      : before_(before), writes_(writes) {}

  // Ids whose value is not that of the last acknowledged write or of one that may have come later.
  [[nodiscard]] std::vector<std::string> lost_or_reverted(const std::map<std::string, std::string>& after) const;

  // What a query missed, found twice, or should not have found, among the entities that nobody touched while it ran.
  // Adds to `checked` the number of those.
  [[nodiscard]] std::vector<std::string> wrong_answers(const CrashQuery& query, std::uint64_t& checked) const;

  // Entities that had one `k` at the same time, and refused writes whose holder did not have that `k` at any moment of
  // the write. Adds to `refused` the number of those that were refused so.
  [[nodiscard]] std::vector<std::string> wrong_keys(std::uint64_t& refused) const;

  [[nodiscard]] std::uint64_t acknowledged() const;

 private:
  [[nodiscard]] CrashValue value_before(const std::string& id) const;
  // What is known of an entity, for people.
  [[nodiscard]] std::string describe(const std::string& id) const;
  [[nodiscard]] bool possible(const std::string& id, const CrashValue& value) const;
  // The value from `start` to `end` if it is certain.
  [[nodiscard]] std::optional<CrashValue> settled(const std::string& id, long long start, long long end) const;
  [[nodiscard]] std::vector<std::string> all_ids() const;

  const std::map<std::string, std::string>& before_;
  const CrashWrites& writes_;
};

}  // namespace looseleaf::test

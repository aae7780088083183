#include "tests/proof/unique_claims.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace looseleaf::test {
namespace {

// A write that certainly took effect, and gave its entity a value.
struct Taking {
  std::string id;
  long long start = 0, end = 0;
  long long free_from = 0;  // the first moment at which another write may have given the entity another value after it

  // True if this may have come first, and the entity have given the value up before the other one took it.
  [[nodiscard]] bool may_precede(const Taking& other) const { return start < other.end && free_from < other.end; }
};

long long free_from(const std::vector<UniqueWrite>& writes, const UniqueWrite& write) {
  long long from = std::numeric_limits<long long>::max();
  for (const UniqueWrite& other : writes) {
    if (other.value != write.value && other.end > write.start) {
      from = std::min(from, other.start);
    }
  }
  return from;
}

}  // namespace

std::vector<UniqueClaims::Shared> UniqueClaims::shared() const {
  std::map<std::string, std::vector<Taking>> takings;  // by value
  for (const auto& [id, writes] : writes_) {
    for (const UniqueWrite& write : writes) {
      if (write.is_certain && !write.value.empty()) {
        takings[write.value].push_back({id, write.start, write.end, free_from(writes, write)});
      }
    }
  }
  std::vector<Shared> shared;
  for (const auto& [value, of_value] : takings) {
    for (auto one = of_value.begin(); one != of_value.end(); ++one) {
      for (auto other = std::next(one); other != of_value.end(); ++other) {
        if (one->id != other->id && !one->may_precede(*other) && !other->may_precede(*one)) {
          shared.push_back({value, one->id, other->id, std::max(one->end, other->end)});
        }
      }
    }
  }
  return shared;
}

bool UniqueClaims::may_have_had(const std::string& id, const std::string& value, long long start, long long end) const {
  const auto found = writes_.find(id);
  if (found == writes_.end()) {
    return false;
  }
  const Writes& writes = found->second;
  return std::any_of(writes.begin(), writes.end(), [&](const UniqueWrite& write) {
    return write.value == value && write.start < end &&
           std::none_of(writes.begin(), writes.end(), [&](const UniqueWrite& later) {
             return later.is_certain && later.value != value && later.start > write.end && later.end < start;
           });
  });
}

}  // namespace looseleaf::test

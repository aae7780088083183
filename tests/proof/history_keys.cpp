#include "tests/proof/history_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace looseleaf::test {
namespace {

// A write that took effect at one moment between its start and its end, or, if that is not certain, perhaps never.
struct UniqueWrite {
  long long start = 0, end = 0;
  std::string value;  // that the entity then has in the index; empty: none
  bool is_certain = true;
};

class UniqueClaims {
 public:
  // Two entities of which neither can have given a value up before the other one took it.
  struct Shared {
    std::string value, one, other;  // ids
    long long moment = 0;
  };

  void add(const std::string& id, UniqueWrite write) { writes_[id].push_back(std::move(write)); }

  [[nodiscard]] std::vector<Shared> shared() const;
  // True if the entity may have had the value at some moment from `start` to `end`.
  [[nodiscard]] bool may_have_had(const std::string& id, const std::string& value, long long start,
                                  long long end) const;

 private:
  using Writes = std::vector<UniqueWrite>;

  std::map<std::string, Writes> writes_;  // by id
};

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

// Empty if there is none.
std::string key_of(const std::string& text, std::string_view property) {
  const auto key = text.empty() ? nlohmann::json() : nlohmann::json::parse(text).value(property, nlohmann::json());
  return key.is_string() ? key.get<std::string>() : key.is_null() ? std::string() : key.dump();
}

// Merges leave the key as it is. What a get found the entity had at some moment, as if it had been written then.
UniqueClaims claims_of(const std::vector<Operation>& history, std::string_view property) {
  UniqueClaims claims;
  for (const Operation& operation : history) {
    const bool tells = operation.action != Action::query && operation.action != Action::merge;
    const bool is_certain = operation.outcome == Outcome::done;
    const bool may_have_happened = operation.outcome == Outcome::unknown && operation.action != Action::get;
    if (tells && (is_certain || may_have_happened)) {
      claims.add(operation.id, {operation.start, operation.end, key_of(operation.text, property), is_certain});
    }
  }
  return claims;
}

}  // namespace

std::vector<WrongKey> wrong_keys(const std::vector<Operation>& history, std::string_view property) {
  const UniqueClaims claims = claims_of(history, property);
  std::vector<WrongKey> wrong;
  for (const auto& [key, one, other, moment] : claims.shared()) {
    wrong.push_back({fmt::format("{} and {} had the key {} at {}", one, other, key, moment), {one, other}});
  }
  for (const Operation& put : history) {
    if (!put.holder.empty() && !claims.may_have_had(put.holder, key_of(put.text, property), put.start, put.end)) {
      wrong.push_back({fmt::format("{} ({}..{}) was rejected, putting {}, because of {}, which had another key",
                                   put.name, put.start, put.end, put.text, put.holder),
                       {put.holder}});
    }
  }
  return wrong;
}

}  // namespace looseleaf::test

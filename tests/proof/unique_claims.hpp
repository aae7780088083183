// Whether what writers were told about the values of a unique index can be. It looks at two writes at a time, so that
// it is quick: it may miss a fault that three of them make, and reports none that is none.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace looseleaf::test {

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

}  // namespace looseleaf::test

// Compares what changes in a store with its copy, so that a comparison of everything stays true.
#pragma once

#include <cstdint>
#include <looseleaf/compare.hpp>
#include <utility>
#include <vector>

#include "compare/contents.hpp"
#include "compare/store.hpp"
#include "compare/text_digest.hpp"
#include "copy/target.hpp"

namespace looseleaf::compare {

// Not thread-safe.
class Changes {
 public:
  // Begins at these positions of the feed of a store, one for each shard.
  explicit Changes(copy::Positions from) : at_(std::move(from)) {}

  // Compares every entity that has changed since the last call, and those that differed then. If nothing changes
  // meanwhile in either store, what differs afterwards differs for good. Throws Error(corrupt) if that is too much.
  void compare(const Store& here, const Store& there);
  // Returns the ids of the entities that differed, in ascending order.
  [[nodiscard]] const std::vector<Uuid>& differing() const { return differing_; }
  // Reads these entities again, and returns how they differ.
  [[nodiscard]] std::vector<Difference> differences(const Store& here, const Store& there) const;
  // Returns how many entities were compared, each time they were.
  [[nodiscard]] std::uint64_t compared() const { return compared_; }

 private:
  class Reader;

  const Digester digester_;
  copy::Positions at_;
  std::vector<Uuid> differing_;
  std::uint64_t compared_ = 0;
};

}  // namespace looseleaf::compare

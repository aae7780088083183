// The entities of which a query has decided whether they are in its answer.
#pragma once

#include <cstddef>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <unordered_map>

namespace looseleaf::read {

inline constexpr std::size_t most_remembered = 131'072;  // ids; they take about 8 MiB

// Forgets all of them when there are too many. Not thread-safe.
class DecidedEntities {
 public:
  // Remembers that an entity was given, or that it does not match. `calls_for_rows` is whether it calls for rows in the
  // range of the query.
  void add(const Uuid& id, bool calls_for_rows);

  [[nodiscard]] bool contains(const Uuid& id) const { return calls_for_rows_.contains(id); }
  // Returns what was remembered of an entity; absent if it is not decided, or forgotten.
  [[nodiscard]] std::optional<bool> calls_for_rows(const Uuid& id) const;
  // Returns true if some were forgotten.
  [[nodiscard]] bool forgot() const { return forgot_; }

 private:
  struct Hash {
    std::size_t operator()(const Uuid& id) const;
  };

  std::unordered_map<Uuid, bool, Hash> calls_for_rows_;
  bool forgot_ = false;
};

}  // namespace looseleaf::read

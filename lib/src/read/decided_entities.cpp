#include "read/decided_entities.hpp"

#include <cstdint>
#include <cstring>

namespace looseleaf::read {

void DecidedEntities::add(const Uuid& id, bool calls_for_rows) {
  if (calls_for_rows_.size() == most_remembered) {
    calls_for_rows_.clear();
    forgot_ = true;
  }
  calls_for_rows_.emplace(id, calls_for_rows);
}

std::optional<bool> DecidedEntities::calls_for_rows(const Uuid& id) const {
  const auto found = calls_for_rows_.find(id);
  return found == calls_for_rows_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t DecidedEntities::Hash::operator()(const Uuid& id) const {
  std::uint64_t first = 0, last = 0;
  std::memcpy(&first, id.bytes.data(), sizeof(first));
  std::memcpy(&last, id.bytes.data() + sizeof(first), sizeof(last));
  return first ^ last;
}

}  // namespace looseleaf::read

// The writes of one batch on their way through the protocol.
#include "write/batch.hpp"

#include <utility>

namespace looseleaf::write {

Condition to_condition(const WriteCondition& condition) {
  if (condition.buffer && condition.kind != WriteCondition::Kind::absent) {
    throw Error(ErrorCode::usage, "only new entities can be buffered", {},
                "give the condition that the entity is absent");
  }
  if (condition.kind != WriteCondition::Kind::unchanged) {
    return {condition.kind, {}, condition.buffer};
  }
  try {
    return {condition.kind, base::parse_stamp(condition.stamp), false};
  } catch (const Error&) {
    throw Error(ErrorCode::usage, "malformed stamp", {{"stamp", condition.stamp}},
                "give a stamp as `looseleaf get --stamps` prints it");
  }
}

std::uint64_t writer_number(std::uint64_t random, const Write& write) {
  return (random & ~std::uint64_t{1}) | std::uint64_t{write.has_condition()};
}

bool had_condition(std::uint64_t writer) {
  return (writer & 1) != 0;
}

ItemsByShard by_shard(const Items& items) {
  ItemsByShard groups;
  for (Item* item : items) {
    groups[item->shard].push_back(item);
  }
  return groups;
}

std::vector<Uuid> ids_of(const Items& items) {
  std::vector<Uuid> ids;
  ids.reserve(items.size());
  for (const Item* item : items) {
    ids.push_back(item->write->id);
  }
  return ids;
}

void mark_for_reconcile(const Items& items) {
  for (Item* item : items) {
    item->reconcile = true;
  }
}

void decide(Item& item, WriteStatus status, std::optional<Error> error) {
  item.decided = true;
  item.write->result->status = status;
  item.write->result->error = std::move(error);
}

void fail(const Items& items, const Error& error) {
  for (Item* item : items) {
    if (!item->decided) {
      decide(*item, WriteStatus::failed, error);
    }
  }
}

}  // namespace looseleaf::write

// Compares index rows with entities.
#include "read/entity_matches.hpp"

#include <algorithm>

#include "model/parsed_entity.hpp"

namespace looseleaf::read {

EntityMatcher::EntityMatcher(const QueryPlan& plan, const model::Filter& filter, const Uuid& id,
                             const std::string& text)
    : plan_(plan) {
  const model::ParsedEntity entity(text, id);
  matching_ = plan.matching_rows(entity);
  filtered_ = !matching_.empty() && !filter.matches(entity);
}

const model::Row* EntityMatcher::place() const {
  return matching_.empty() || filtered_ ? nullptr : &plan_.first(matching_);
}

bool EntityMatcher::calls_for(const model::Row& row) const {
  return std::binary_search(matching_.begin(), matching_.end(), row);
}

BatchMatches::BatchMatches(const std::vector<shard::IndexEntry>& entries, const QueryPlan& plan,
                           const model::Filter& filter)
    : entries_(entries), plan_(plan), filter_(filter), matches_(entries.size()) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    by_id_.emplace_back(entries[i].entity_id, i);
  }
  std::sort(by_id_.begin(), by_id_.end());
}

void BatchMatches::add(const Uuid& id, const std::string& text) {
  const auto of_entity = entries_of(id);
  for (const auto& [_, entry] : of_entity) {
    matches_[entry].reset();
  }
  try {
    const EntityMatcher matcher(plan_, filter_, id, text);
    for (const auto& [_, entry] : of_entity) {
      matches_[entry] = match(matcher, entries_[entry].values);
    }
  } catch (const Error&) {  // of() parses the text again and throws the error
  }
}

bool BatchMatches::is_known_to_be_stale(std::size_t entry) const {
  return !is_first(entry) && matches_[entry] && matches_[entry]->kind == Match::Kind::stale;
}

bool BatchMatches::is_first(std::size_t entry) const {
  return entries_of(entries_[entry].entity_id).front().second == entry;
}

Match BatchMatches::of(std::size_t entry, const GetResult& result) const {
  if (result.error) {
    throw *result.error;
  }
  if (!result.entity) {
    return {Match::Kind::stale};
  }
  const auto& known = matches_[entry];
  return known ? *known : match(EntityMatcher(plan_, filter_, result.id, result.entity->json), entries_[entry].values);
}

Match BatchMatches::match(const EntityMatcher& matcher, const model::Row& row) const {
  const model::Row* const place = matcher.place();
  if (place && *place == row) {
    return {Match::Kind::wanted};
  }
  Match match{!matcher.calls_for(row) ? Match::Kind::stale : place ? Match::Kind::repeat : Match::Kind::filtered};
  if (place) {
    match.elsewhere = *place;
  }
  return match;
}

std::span<const std::pair<Uuid, std::size_t>> BatchMatches::entries_of(const Uuid& id) const {
  const auto [first, last] = std::equal_range(by_id_.begin(), by_id_.end(), std::pair(id, std::size_t{0}),
                                              [](const auto& a, const auto& b) { return a.first < b.first; });
  return {first, last};
}

}  // namespace looseleaf::read

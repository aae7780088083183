// Turns conditions into ranges of the index and into a filter.
#include "read/query_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <looseleaf/error.hpp>
#include <numeric>
#include <set>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "model/condition.hpp"
#include "shard/placement.hpp"

namespace looseleaf::read {
namespace {

std::vector<std::string> property_names(const IndexDefinition& definition) {
  std::vector<std::string> names;
  for (const Property& property : definition.properties) {
    names.push_back(property.name);
  }
  return names;
}

std::string hint_for_name(const std::string& name, const std::vector<std::string>& names) {
  if (name.ends_with("[]") && std::find(names.begin(), names.end(), name.substr(0, name.size() - 2)) != names.end()) {
    return "leave [] out: an index on an array finds its elements by the plain name";
  }
  if (name.ends_with(' ') &&
      std::find(names.begin(), names.end(), name.substr(0, name.find_last_not_of(' ') + 1)) != names.end()) {
    return "leave out the space before the operator: it belongs to the name";
  }
  const auto meant = base::nearest(name, std::vector<std::string_view>(names.begin(), names.end()));
  return meant ? fmt::format("did you mean `{}`?", *meant)
               : fmt::format("name one of its properties: {}", fmt::join(names, ", "));
}

std::size_t position_of(const IndexDefinition& definition, const std::string& name) {
  const auto names = property_names(definition);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorCode::usage, "index has no such property", {{"index", definition.table}, {"property", name}},
                hint_for_name(name, names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

bool holds(Operator op, const model::Value& value, const model::Value& bound) {
  return op == Operator::prefix ? std::get<std::string>(value).starts_with(std::get<std::string>(bound))
                                : model::holds(op, value <=> bound);
}

// True if the stored value may be only the beginning of a longer string.
bool may_be_cut(const Property& property, const model::Value& stored) {
  const auto* const text = std::get_if<std::string>(&stored);
  return text != nullptr && base::utf8_length(*text) >= property.max_length;
}

// Names the properties from `first` on that need an equality condition before the property at `position` can have
// `condition`, and gives an example.
std::string hint_for_first(const IndexDefinition& definition, std::size_t first, std::size_t position,
                           const std::string& condition) {
  const auto names = property_names(definition);
  const auto begin = names.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(position);
  std::string example;
  std::for_each(begin, end, [&](const std::string& name) { example += name + "=VALUE "; });
  return fmt::format("give {} with = first, because the index begins with {}: {}{}",
                     fmt::join(begin + static_cast<std::ptrdiff_t>(first), end, " and "), fmt::join(begin, end, ", "),
                     example, condition);
}

// Throws if no part of an index has what the condition asks for.
void require_usable(const IndexDefinition& definition, const Condition& condition) {
  if (condition.op == Operator::not_equal || condition.op == Operator::exists) {
    const std::string name = model::written_name(condition);
    throw Error(ErrorCode::usage, "index cannot use this condition", {{"index", definition.table}, {"property", name}},
                fmt::format("an index finds values with =, a range or ^=; filter with --where '{}{}{}'", name,
                            model::symbol(condition.op), condition.value));
  }
}

Error too_many_values(const IndexDefinition& definition) {
  return {ErrorCode::usage,
          "too many values for one query",
          {{"index", definition.table},
           {"limit", fmt::format("{} values, or combinations of values that are ordered", Query::most_values)}},
          "ask for some of the values at a time, in several queries"};
}

void sort_once(std::vector<model::Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// With more values in one list, MariaDB turns the list into a table, and does not read ranges of the index.
constexpr std::size_t values_at_once = 999;

// Divides the values into parts that have at most `most` combinations.
std::vector<QueryPlan::Values> split(QueryPlan::Values values, std::size_t most) {
  const auto longest =
      std::max_element(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::size_t others = 1;  // combinations
  for (auto list = values.begin(); list != values.end(); ++list) {
    others *= list == longest ? 1 : std::max<std::size_t>(1, list->size());
  }
  if (longest == values.end() || longest->size() <= 1 || others * longest->size() <= most) {
    return {std::move(values)};
  }
  const std::vector<model::Value> list = std::move(*longest);
  const std::size_t size = std::max<std::size_t>(1, most / others);
  std::vector<QueryPlan::Values> parts;
  for (std::size_t from = 0; from < list.size(); from += size) {
    const auto begin = list.begin() + static_cast<std::ptrdiff_t>(from);
    longest->assign(begin, begin + static_cast<std::ptrdiff_t>(std::min(size, list.size() - from)));
    auto pieces = split(values, most);
    std::move(pieces.begin(), pieces.end(), std::back_inserter(parts));
  }
  return parts;
}

}  // namespace

std::size_t order_position(const IndexDefinition& definition, const Query& query) {
  return query.order_by.empty() ? 0 : position_of(definition, query.order_by);
}

QueryPlan::QueryPlan(const IndexDefinition& definition, const Query& query)
    : definition_(definition), descending_(query.descending) {
  const std::size_t equal = add_equalities(query);
  for (const Condition& condition : query.conditions) {
    if (condition.op != Operator::equal) {
      add_range(condition, equal);
    }
  }
  set_order(query, equal);
  for (std::size_t i = 0; i < definition.properties.size(); ++i) {
    known_.push_back(known(i));
  }
}

std::size_t QueryPlan::add_equalities(const Query& query) {
  std::size_t values = 0;
  for (const Condition& condition : query.conditions) {
    const std::size_t position = position_of(definition_, model::written_name(condition));
    require_usable(definition_, condition);
    if (condition.op != Operator::equal) {
      continue;
    }
    if (++values > Query::most_values && !query.order_by.empty()) {
      throw too_many_values(definition_);
    }
    const auto same =
        std::find_if(bounds_.begin(), bounds_.end(), [&](const Bound& b) { return b.property == position; });
    Bound& bound = same != bounds_.end() ? *same : bounds_.emplace_back(Bound{position, Operator::equal, {}});
    bound.any_of.push_back(model::parse_value(definition_.properties[position], condition.value));
  }
  std::sort(bounds_.begin(), bounds_.end(), [](const Bound& a, const Bound& b) { return a.property < b.property; });
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    sort_once(bounds_[i].any_of);
    if (bounds_[i].property != i) {
      const std::string& name = definition_.properties[bounds_[i].property].name;
      throw Error(ErrorCode::usage, "index cannot use this condition",
                  {{"index", definition_.table}, {"property", name}},
                  hint_for_first(definition_, i, bounds_[i].property, name + "=VALUE"));
    }
  }
  return bounds_.size();
}

void QueryPlan::set_order(const Query& query, std::size_t equal) {
  order_from_ = order_position(definition_, query);
  if (order_from_ > equal) {
    throw Error(ErrorCode::usage, "index cannot use this order",
                {{"index", definition_.table}, {"property", query.order_by}},
                hint_for_first(definition_, equal, order_from_, "--order-by " + query.order_by));
  }
  const bool across = orders_across_values();
  std::size_t combinations = 1;
  for (const Bound& bound : bounds_) {
    combinations *= bound.any_of.size();
    if (across && combinations > Query::most_values) {
      throw too_many_values(definition_);
    }
  }
}

bool QueryPlan::needs_sorting(const Values& values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (bounds_[i].property < order_from_ && values[i].size() > 1) {
      return true;
    }
  }
  return false;
}

bool QueryPlan::orders_across_values() const {
  return std::any_of(bounds_.begin(), bounds_.end(),
                     [&](const Bound& bound) { return bound.property < order_from_ && !is_fixed(bound.property); });
}

void QueryPlan::add_range(const Condition& condition, std::size_t position) {
  const std::size_t given = position_of(definition_, model::written_name(condition));
  if (given != position) {
    throw Error(ErrorCode::usage, "index cannot use this condition",
                {{"index", definition_.table}, {"property", condition.property}},
                given > position
                    ? hint_for_first(definition_, position, given,
                                     fmt::format("'{}{}VALUE'", condition.property, model::symbol(condition.op)))
                    : fmt::format("give {} either with = or with a range", condition.property));
  }
  const Property& property = definition_.properties[position];
  if (condition.op == Operator::prefix && property.type != PropertyType::string) {
    throw Error(ErrorCode::usage, "only a string can have a prefix",
                {{"property", property.name}, {"type", to_string(property.type)}},
                "give a value with =, or a range with > and <");
  }
  for (const Bound& bound : bounds_) {
    if (bound.property == position && (bound.op == Operator::prefix || condition.op == Operator::prefix ||
                                       model::is_lower_bound(bound.op) == model::is_lower_bound(condition.op))) {
      throw Error(ErrorCode::usage, "conditions on one property contradict or repeat each other",
                  {{"property", property.name}}, "give at most one lower and one upper bound, or one prefix");
    }
  }
  bounds_.push_back({position, condition.op, {model::parse_value(property, condition.value)}});
}

std::optional<Warning> QueryPlan::contradiction() const {
  for (const Bound& lower : bounds_) {
    for (const Bound& upper : bounds_) {
      const bool is_range = lower.property == upper.property && model::is_lower_bound(lower.op) &&
                            (upper.op == Operator::less || upper.op == Operator::less_equal);
      if (is_range && (lower.any_of.front() <=> upper.any_of.front()) > 0) {
        return model::nothing_between(definition_.properties[lower.property].name);
      }
    }
  }
  return std::nullopt;
}

std::vector<std::uint32_t> QueryPlan::shards(std::uint32_t count) const {
  std::set<std::uint32_t> wanted;
  for (const Bound& bound : bounds_) {
    if (definition_.shard_on == bound.property && bound.op == Operator::equal) {
      for (const model::Value& value : bound.any_of) {
        wanted.insert(shard::shard_of(model::as_stored(definition_.properties[bound.property], value), count));
      }
    }
  }
  std::vector<std::uint32_t> shards(wanted.begin(), wanted.end());
  if (shards.empty()) {
    shards.resize(count);
    std::iota(shards.begin(), shards.end(), 0);
  }
  return shards;
}

std::vector<QueryPlan::Values> QueryPlan::parts(std::uint32_t shard, std::uint32_t count) const {
  Values all(bounds_.size());
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    const Bound& bound = bounds_[i];
    if (bound.any_of.size() == 1) {
      continue;
    }
    for (const model::Value& value : bound.any_of) {
      model::Value stored = model::as_stored(definition_.properties[bound.property], value);
      if (definition_.shard_on != bound.property || shard::shard_of(stored, count) == shard) {
        all[i].push_back(std::move(stored));
      }
    }
    sort_once(all[i]);
  }
  return split(std::move(all), orders_across_values() ? values_at_once : std::numeric_limits<std::size_t>::max());
}

std::vector<QueryPlan::Values> QueryPlan::divided(const std::vector<Values>& parts) const {
  std::vector<Values> divided;
  for (const Values& part : parts) {
    auto pieces = split(part, 1);
    std::move(pieces.begin(), pieces.end(), std::back_inserter(divided));
  }
  return divided;
}

std::optional<model::Value> QueryPlan::known(std::size_t property) const {
  if (!is_fixed(property) || definition_.properties[property].type == PropertyType::string) {
    return std::nullopt;
  }
  const auto bound =
      std::find_if(bounds_.begin(), bounds_.end(), [&](const Bound& b) { return b.property == property; });
  return model::as_stored(definition_.properties[property], bound->any_of.front());
}

bool QueryPlan::is_fixed(std::size_t property) const {
  return std::any_of(bounds_.begin(), bounds_.end(), [&](const Bound& bound) {
    return bound.property == property && bound.op == Operator::equal && bound.any_of.size() == 1;
  });
}

bool QueryPlan::meets(std::size_t property, const model::Value& value) const {
  return std::all_of(bounds_.begin(), bounds_.end(), [&](const Bound& bound) {
    return bound.property != property ||
           (bound.op == Operator::equal ? std::binary_search(bound.any_of.begin(), bound.any_of.end(), value)
                                        : holds(bound.op, value, bound.any_of.front()));
  });
}

std::vector<model::Value> QueryPlan::meeting_values(std::size_t property, const model::ParsedEntity& entity) const {
  const Property& wanted = definition_.properties[property];
  std::vector<model::Value> meeting;
  for (const model::Value& value : entity.property_values(wanted)) {
    if (meets(property, value)) {
      meeting.push_back(model::as_stored(wanted, value));
    }
  }
  sort_once(meeting);
  return meeting;
}

bool QueryPlan::is_point() const {
  return std::all_of(definition_.properties.begin(), definition_.properties.end(),
                     [&, i = std::size_t{0}](const Property&) mutable { return is_fixed(i++); });
}

std::vector<model::Row> QueryPlan::matching_rows(const model::ParsedEntity& entity) const {
  std::vector<model::Row> rows = entity.expected_rows(definition_);
  for (std::size_t i = 0; i < definition_.properties.size(); ++i) {
    if (std::none_of(bounds_.begin(), bounds_.end(), [&](const Bound& bound) { return bound.property == i; })) {
      continue;
    }
    std::optional<std::vector<model::Value>> meeting;  // an entity may have many rows, so this is read once
    std::erase_if(rows, [&](const model::Row& row) {
      if (!may_be_cut(definition_.properties[i], row[i])) {
        return !meets(i, row[i]);
      }
      if (!meeting) {
        meeting = meeting_values(i, entity);
      }
      return !std::binary_search(meeting->begin(), meeting->end(), row[i]);
    });
  }
  return rows;
}

const model::Row& QueryPlan::first(const std::vector<model::Row>& matching) const {
  const auto by_order = [&](const model::Row& a, const model::Row& b) { return compare(a, b) < 0; };
  return descending_ ? *std::max_element(matching.begin(), matching.end(), by_order)
                     : *std::min_element(matching.begin(), matching.end(), by_order);
}

bool QueryPlan::has_several_rows() const {
  return std::any_of(definition_.properties.begin(), definition_.properties.end(),
                     [](const Property& property) { return property.each; });
}

std::partial_ordering QueryPlan::compare(const model::Row& a, const model::Row& b) const {
  const auto from = static_cast<std::ptrdiff_t>(order_from_);
  return std::lexicographical_compare_three_way(a.begin() + from, a.end(), b.begin() + from, b.end());
}

bool QueryPlan::before(const shard::IndexEntry& a, const shard::IndexEntry& b) const {
  const std::partial_ordering order = compare(a.values, b.values);
  return descending_ ? order > 0 || (order == 0 && a.entity_id > b.entity_id)
                     : order < 0 || (order == 0 && a.entity_id < b.entity_id);
}

}  // namespace looseleaf::read

// The reasons for which entities have no rows, in words and as JSON.
#include "model/indexing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace looseleaf {
namespace {

using Why = NoRow::Why;

constexpr std::pair<Why, const char*> names[] = {{Why::no_match, "no_match"},
                                                 {Why::absent, "absent"},
                                                 {Why::null, "null"},
                                                 {Why::empty_array, "empty_array"},
                                                 {Why::other_type, "other_type"},
                                                 {Why::no_element, "no_element"},
                                                 {Why::not_an_array, "not_an_array"},
                                                 {Why::array_without_each, "array_without_each"},
                                                 {Why::out_of_range, "out_of_range"},
                                                 {Why::too_long, "too_long"},
                                                 {Why::some_elements, "some_elements"},
                                                 {Why::some_too_long, "some_too_long"}};
constexpr PropertyType types[] = {PropertyType::uuid, PropertyType::string, PropertyType::integer, PropertyType::real,
                                  PropertyType::boolean};

using ByReason = std::map<NoRow, IndexingCounts::Without>;

void add_one(ByReason& entities, const NoRow& reason, const Uuid& id) {
  const auto [found, is_new] = entities.try_emplace(reason);
  if (is_new) {
    found->second.example = id;
  }
  ++found->second.entities;
}

void add_all(ByReason& entities, const ByReason& others) {
  for (const auto& [reason, theirs] : others) {
    const auto [found, is_new] = entities.emplace(reason, theirs);
    if (!is_new) {
      found->second.entities += theirs.entities;
    }
  }
}

}  // namespace

bool is_of_other_type(NoRow::Why why) {
  return why == Why::other_type || why == Why::no_element || why == Why::not_an_array ||
         why == Why::array_without_each || why == Why::out_of_range || why == Why::too_long;
}

std::string to_string(NoRow::Why why) {
  return std::find_if(std::begin(names), std::end(names), [&](const auto& name) { return name.first == why; })->second;
}

std::string describe(const NoRow& reason) {
  switch (reason.why) {
    case Why::no_match:
      return "it does not match `where`";
    case Why::absent:
      return fmt::format("`{}` is absent", reason.property);
    case Why::null:
      return fmt::format("`{}` is null", reason.property);
    case Why::empty_array:
      return fmt::format("`{}` is an empty array", reason.property);
    case Why::other_type:
      return fmt::format("`{}` is not of type {}", reason.property, to_string(reason.type));
    case Why::no_element:
      return fmt::format("no element of `{}` is of type {}", reason.property, to_string(reason.type));
    case Why::not_an_array:
      return fmt::format("`{}` is not an array, and the definition has `each`", reason.property);
    case Why::array_without_each:
      return fmt::format("`{}` is an array, and the definition has no `each`", reason.property);
    case Why::out_of_range:
      return fmt::format("`{}` is a number that is too large for type {}", reason.property, to_string(reason.type));
    case Why::too_long:
      return fmt::format("`{}` is longer than `max_length` of a unique index", reason.property);
    case Why::some_elements:
      return fmt::format("some elements of `{}` are not of type {}", reason.property, to_string(reason.type));
    case Why::some_too_long:
      return fmt::format("some elements of `{}` are longer than `max_length` of a unique index", reason.property);
  }
  return {};
}

void IndexingCounts::add_without(const NoRow& reason, const Uuid& id) {
  add_one(without, reason, id);
}

void IndexingCounts::add_partial(const NoRow& reason, const Uuid& id) {
  add_one(partial, reason, id);
}

void IndexingCounts::add(const IndexingCounts& other) {
  complete = complete && other.complete;
  with_rows += other.with_rows;
  rows += other.rows;
  add_all(without, other.without);
  add_all(partial, other.partial);
}

std::uint64_t IndexingCounts::entities() const {
  return std::accumulate(without.begin(), without.end(), with_rows,
                         [](std::uint64_t sum, const auto& one) { return sum + one.second.entities; });
}

bool IndexingCounts::is_suspicious() const {
  std::uint64_t of_other_type = 0;
  bool too_long =
      std::any_of(partial.begin(), partial.end(), [](const auto& one) { return one.first.why == Why::some_too_long; });
  for (const auto& [reason, some] : without) {
    of_other_type += is_of_other_type(reason.why) ? some.entities : 0;
    too_long = too_long || reason.why == Why::too_long;
  }
  return too_long || (complete && ((rows == 0 && entities() > 0) || of_other_type > with_rows));
}

namespace model {

using nlohmann::json;

void count_entity(IndexingCounts& counts, const IndexDefinition& definition, const ParsedEntity& entity, const Uuid& id,
                  std::size_t rows) {
  if (rows > 0) {
    counts.add_rows(rows);
    for (const NoRow& reason : entity.elements_left_out(definition)) {
      counts.add_partial(reason, id);
    }
  } else {
    counts.add_without(entity.reason_for_no_row(definition), id);
  }
}

namespace {

json to_array(const ByReason& entities) {
  json array = json::array();
  for (const auto& [reason, some] : entities) {
    array.push_back({{"why", looseleaf::to_string(reason.why)},
                     {"property", reason.property},
                     {"type", looseleaf::to_string(reason.type)},
                     {"entities", some.entities},
                     {"example", looseleaf::to_string(some.example)}});
  }
  return array;
}

ByReason parse_array(const json& array, std::string_view text) {
  ByReason entities;
  for (const json& some : array) {
    const auto is_named = [&](const auto& name) { return name.second == some.at("why").get<std::string>(); };
    const auto is_type = [&](PropertyType type) {
      return looseleaf::to_string(type) == some.at("type").get<std::string>();
    };
    const auto* const why = std::find_if(std::begin(names), std::end(names), is_named);
    const auto* const type = std::find_if(std::begin(types), std::end(types), is_type);
    const auto example = Uuid::parse(some.at("example").get<std::string>());
    if (why == std::end(names) || type == std::end(types) || !example) {
      throw Error(ErrorCode::corrupt, "the counts of a backfill cannot be read", {{"counts", std::string(text)}},
                  "run it again with --restart");
    }
    entities.emplace(NoRow{why->first, some.at("property").get<std::string>(), *type},
                     IndexingCounts::Without{some.at("entities").get<std::uint64_t>(), *example});
  }
  return entities;
}

}  // namespace

std::string to_json(const IndexingCounts& counts) {
  return json{{"complete", counts.complete},
              {"with_rows", counts.with_rows},
              {"rows", counts.rows},
              {"without", to_array(counts.without)},
              {"partial", to_array(counts.partial)}}
      .dump();
}

IndexingCounts parse_indexing_counts(std::string_view text) {
  IndexingCounts counts;
  if (text.empty()) {
    return counts;
  }
  try {
    const json object = json::parse(text);
    counts.with_rows = object.at("with_rows").get<std::uint64_t>();
    counts.rows = object.at("rows").get<std::uint64_t>();
    counts.complete = object.value("complete", true);  // absent in what older versions wrote
    counts.without = parse_array(object.at("without"), text);
    counts.partial = parse_array(object.value("partial", json::array()), text);  // absent in what older versions wrote
  } catch (const json::exception& error) {
    throw Error(ErrorCode::corrupt, "the counts of a backfill cannot be read", {{"reason", error.what()}},
                "run it again with --restart");
  }
  return counts;
}

}  // namespace model
}  // namespace looseleaf

// The counts of indexed entities, in words and as JSON.
#include "cli/report/indexing_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

std::string hint_for(NoRow::Why why, bool planned) {
  const auto correct = [&](const char* what) {
    return fmt::format("{}; {}", what,
                       planned
                           ? "correct the definition before the index is created, unless older entities are otherwise"
                           : "drop the index and create it again with the corrected definition");
  };
  switch (why) {
    case NoRow::Why::no_match:
      return correct("check the values in `where`, and their types, and that none of them is in an array");
    case NoRow::Why::absent:
      return correct("check how the property is spelt");
    case NoRow::Why::other_type:
    case NoRow::Why::no_element:
    case NoRow::Why::some_elements:
      return correct("check the property's type");
    case NoRow::Why::not_an_array:
      return correct("leave `each` out");
    case NoRow::Why::array_without_each:
      return correct("add \"each\": true to the property");
    case NoRow::Why::out_of_range:
      return correct("use the type double, which rounds, or store strings");
    case NoRow::Why::too_long:
    case NoRow::Why::some_too_long:
      return correct("use a larger `max_length`");
    case NoRow::Why::null:
    case NoRow::Why::empty_array:
      break;
  }
  return "run `looseleaf explain` with an entity's id to see what the entity calls for";
}

using ByReason = std::map<NoRow, IndexingCounts::Without>;

bool is_too_long(NoRow::Why why) {
  return why == NoRow::Why::too_long || why == NoRow::Why::some_too_long;
}

// Returns the most frequent reason of those that the warning is about. A value that the index cannot take tells more of
// a mistake than all entities without the property.
ByReason::value_type reason_to_name(const IndexingCounts& counts) {
  const auto weight = [&](const auto& one) {
    const NoRow::Why why = one.first.why;
    const int rank = is_too_long(why) ? 3 : is_of_other_type(why) ? 2 : counts.rows == 0 ? 1 : 0;
    return std::pair(rank, one.second.entities);
  };
  ByReason reasons = counts.without;
  reasons.insert(counts.partial.begin(), counts.partial.end());
  return *std::max_element(reasons.begin(), reasons.end(),
                           [&](const auto& a, const auto& b) { return weight(a) < weight(b); });
}

void warn(const std::string& index, const IndexingCounts& counts, bool planned) {
  const auto [reason, some] = reason_to_name(counts);
  const char* const no_rows = planned ? "an index would have no rows of these entities: no query would find them by it"
                                      : "an index has no rows: no query finds anything by it";
  print_warning(counts.rows == 0          ? no_rows
                : is_too_long(reason.why) ? "a unique index leaves out values that are too long; several "
                                            "entities may have the same"
                                          : "more entities have a value that the index cannot take than "
                                            "have rows",
                {{"index", index},
                 {"with rows",
                  fmt::format("{} of {}", grouped(counts.with_rows), counted(counts.entities(), "entity", "entities"))},
                 {"reason", describe(reason)},
                 {"example", to_string(some.example)}},
                hint_for(reason.why, planned));
}

}  // namespace

std::vector<std::string> lines_of(const std::string& index, const IndexingCounts& counts) {
  std::vector<std::string> lines = {fmt::format("{}: {} of {} with rows, {} in all", index, grouped(counts.with_rows),
                                                counted(counts.entities(), "entity", "entities"),
                                                counted(counts.rows, "row", "rows"))};
  for (const auto& [reason, some] : counts.without) {
    lines.push_back(fmt::format("{}: {} without a row: {}, for example in {}", index, grouped(some.entities),
                                describe(reason), to_string(some.example)));
  }
  for (const auto& [reason, some] : counts.partial) {
    lines.push_back(fmt::format("{}: {} with only some of their rows: {}, for example in {}", index,
                                grouped(some.entities), describe(reason), to_string(some.example)));
  }
  if (!counts.complete) {
    lines.push_back(
        fmt::format("{}: these counts are incomplete, because an older version of looseleaf began this "
                    "backfill; `looseleaf verify` counts all entities",
                    index));
  }
  return lines;
}

void print_indexing(const std::map<std::string, IndexingCounts>& indexing, const IndexingReport& report) {
  const auto lacks_rows = [](const IndexingCounts& counts) { return counts.without.size() + counts.partial.size(); };
  const auto some =
      std::find_if(indexing.begin(), indexing.end(), [&](const auto& one) { return lacks_rows(one.second) > 0; });
  if (report.planned && !report.only_warnings && some != indexing.end()) {
    print_note(fmt::format("in a sample of the newest {}:", counted(some->second.entities(), "entity", "entities")));
  }
  for (const auto& [index, counts] : indexing) {
    const bool says_all = counts.is_suspicious() && lacks_rows(counts) == 1;  // the warning
    if (!report.only_warnings && ((lacks_rows(counts) > 0 && !says_all) || !counts.complete)) {
      for (const std::string& line : lines_of(index, counts)) {
        print_note(line);
      }
    }
    if (counts.is_suspicious()) {
      warn(index, counts, report.planned);
    }
  }
}

namespace {

Json json_of(const ByReason& entities) {
  Json array = Json::array();
  for (const auto& [reason, some] : entities) {
    array.push_back({{"why", to_string(reason.why)},
                     {"property", reason.property.empty() ? Json(nullptr) : Json(reason.property)},
                     {"entities", some.entities},
                     {"example", to_string(some.example)}});
  }
  return array;
}

}  // namespace

Json json_of(const std::map<std::string, IndexingCounts>& indexing) {
  Json array = Json::array();
  for (const auto& [index, counts] : indexing) {
    array.push_back({{"index", index},
                     {"entities", counts.entities()},
                     {"with_rows", counts.with_rows},
                     {"rows", counts.rows},
                     {"without_rows", json_of(counts.without)},
                     {"partial_rows", json_of(counts.partial)},
                     {"complete", counts.complete}});
  }
  return array;
}

}  // namespace looseleaf::cli

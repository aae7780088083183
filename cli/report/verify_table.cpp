// The table of what verify checked, and what to do about its findings.
#include "cli/report/verify_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "cli/terminal/table.hpp"

namespace looseleaf::cli {
namespace {

constexpr FindingKind entity_kinds[] = {FindingKind::unreadable, FindingKind::wrong_id, FindingKind::wrong_shard};
constexpr FindingKind table_kinds[] = {FindingKind::table_differs, FindingKind::catalog_differs,
                                       FindingKind::definition_differs};

bool is_among(FindingKind kind, const auto& kinds) {
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

// Leaves out the kinds that were not found, so that lines stay short, but not the usual ones.
std::vector<FindingKind> kinds_shown(const std::vector<VerifiedPlace>& places) {
  const auto is_found = [&](FindingKind kind) {
    return std::any_of(places.begin(), places.end(),
                       [&](const VerifiedPlace& place) { return count_of(place.count, kind) > 0; });
  };
  constexpr std::ptrdiff_t seldom = 2;
  std::vector<FindingKind> kinds(std::begin(row_kinds), std::end(row_kinds) - seldom);
  std::copy_if(std::end(row_kinds) - seldom, std::end(row_kinds), std::back_inserter(kinds), is_found);
  std::copy_if(std::begin(entity_kinds), std::end(entity_kinds), std::back_inserter(kinds), is_found);
  std::copy_if(std::begin(table_kinds), std::end(table_kinds), std::back_inserter(kinds), is_found);
  return kinds;
}

std::string cell(const VerifiedPlace& place, FindingKind kind) {
  const std::uint64_t count = count_of(place.count, kind);
  const bool checked = is_among(kind, entity_kinds) ? place.index.empty() : place.verified;
  return checked || count > 0 ? std::to_string(count) : "-";
}

const char* advice(FindingKind kind, bool repaired) {
  switch (kind) {
    case FindingKind::missing:
      return repaired ? advice(FindingKind::stale, true)
                      : "run `looseleaf verify --repair`; find out which program wrote to the table or which server "
                        "lost commits";
    case FindingKind::stale:
    case FindingKind::orphan:
    case FindingKind::misplaced:
    case FindingKind::duplicate:
      return repaired
                 ? "not repaired: find out which program writes to the table, then run `looseleaf verify --repair` "
                   "again"
                 : "run `looseleaf verify --repair`";
    case FindingKind::conflict:
      return "change or delete one of the two entities, then run `looseleaf verify --repair`; find out which server "
             "lost commits";
    case FindingKind::unreadable:
    case FindingKind::wrong_id:
      return "the body was damaged, or another program wrote it: delete the entity, then put it again";
    case FindingKind::wrong_shard:
      return "get the entity by SQL, put it, delete the misplaced row by SQL";
    case FindingKind::table_differs:
      return "restore the table, or drop and create the index; give a table of the program's own the columns and keys "
             "of docs/format.md";
    case FindingKind::catalog_differs:
      return "run `looseleaf create-index`, `looseleaf backfill` or `looseleaf drop-index` again, whichever was "
             "interrupted";
    case FindingKind::definition_differs:
      return "run `looseleaf create-index` or `looseleaf drop-index`, or correct the folder of definitions";
  }
  return "";
}

}  // namespace

std::uint64_t count_of(const VerifyReport::Count& count, FindingKind kind) {
  const auto found = count.findings.find(kind);
  return found == count.findings.end() ? 0 : found->second;
}

std::string name_of(const std::string& index) {
  return index.empty() ? "entities" : index;
}

std::vector<VerifiedPlace> verified_places(const VerifyReport& report, std::uint32_t shards, bool compared) {
  std::map<std::pair<std::string, std::uint32_t>, VerifyReport::Count> counts = report.counts;
  for (const std::string& index : report.unverified) {
    for (std::uint32_t shard = 0; compared && shard < shards; ++shard) {
      counts[{index, shard}];
    }
  }
  const std::set<std::string> verified(report.verified.begin(), report.verified.end());
  std::vector<VerifiedPlace> places;
  for (auto& [place, count] : counts) {
    // A repair leaves counts of entities without findings.
    if (!place.first.empty() || !count.findings.empty()) {
      places.push_back({place.first, place.second, compared && verified.contains(place.first), std::move(count)});
    }
  }
  return places;
}

void print_verified(const std::vector<VerifiedPlace>& places) {
  const std::vector<FindingKind> kinds = kinds_shown(places);
  std::vector<Column> columns{{"index"}, {"shard", true}, {"rows", true}};
  for (const auto kind : kinds) {
    columns.push_back({to_string(kind), true});
  }
  TableRows rows;
  for (const VerifiedPlace& place : places) {
    std::vector<std::string> row{name_of(place.index), std::to_string(place.shard),
                                 place.verified ? std::to_string(place.count.rows) : "-"};
    for (const auto kind : kinds) {
      row.push_back(cell(place, kind));
    }
    rows.push_back(std::move(row));
  }
  print_table(columns, std::move(rows));
}

std::vector<std::string> advice_of(const VerifyReport& report, bool repaired) {
  std::set<FindingKind> found;
  for (const auto& [place, count] : report.counts) {
    for (const auto& [kind, number] : count.findings) {
      found.insert(kind);
    }
  }
  std::vector<std::pair<std::string, std::string>> by_advice;  // what to do, and the kinds
  for (const FindingKind kind : found) {
    const std::string text = advice(kind, repaired);
    const auto same =
        std::find_if(by_advice.begin(), by_advice.end(), [&](const auto& known) { return known.first == text; });
    if (same == by_advice.end()) {
      by_advice.emplace_back(text, to_string(kind));
    } else {
      same->second += ", " + to_string(kind);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [text, kinds] : by_advice) {
    lines.push_back(fmt::format("{}: {}", kinds, text));
  }
  return lines;
}

}  // namespace looseleaf::cli

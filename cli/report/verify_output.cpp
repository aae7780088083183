// The output of verify.
#include "cli/report/verify_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/report/indexing_report.hpp"
#include "cli/report/junit.hpp"
#include "cli/report/verify_table.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

bool is_about_table(FindingKind kind) {
  return kind == FindingKind::table_differs || kind == FindingKind::catalog_differs ||
         kind == FindingKind::definition_differs;
}

Json values_of(const Finding& finding) {
  Json values = Json::parse(finding.values, nullptr, false);
  return values.is_discarded() ? Json(finding.values) : values;
}

Json json_of(const Finding& finding) {
  Json object = {{"kind", to_string(finding.kind)},
                 {"index", finding.index.empty() ? Json(nullptr) : Json(finding.index)},
                 {"shard", finding.shard},
                 {"entity_id", is_about_table(finding.kind) ? Json(nullptr) : Json(to_string(finding.entity_id))},
                 {"values", values_of(finding)}};
  if (finding.holder) {
    object["holder"] = to_string(*finding.holder);
  }
  return object;
}

Json json_counts(const std::vector<VerifiedPlace>& places) {
  Json indexes = Json::array();
  for (const VerifiedPlace& place : places) {
    if (place.index.empty()) {
      continue;
    }
    Json row{{"index", place.index}, {"shard", place.shard}, {"rows", place.count.rows}};
    for (const auto kind : row_kinds) {
      row[to_string(kind)] = count_of(place.count, kind);
    }
    row["verified"] = place.verified;
    indexes.push_back(std::move(row));
  }
  return indexes;
}

}  // namespace

void VerifyOutput::add(const Finding& finding) {
  const Place place{finding.index, finding.shard};
  const std::uint64_t count = ++counts_[{place, finding.kind}];
  if (count <= samples_of_a_kind) {
    samples_[place].push_back(text_of(finding));
  }
  if (globals_.json()) {
    print_json(to_json(finding));
  } else if (options_.all || count <= samples_of_a_kind) {
    print_line(text_of(finding));
  }
}

void VerifyOutput::add_repaired(const Finding& finding) {
  const std::uint64_t count = ++repaired_[{{finding.index, finding.shard}, finding.kind}];
  if (globals_.json()) {
    print_json({{"event", "repaired"}, {"finding", to_json(finding)}});
  } else if (options_.all || count <= samples_of_a_kind) {
    print_line("repaired " + text_of(finding));
  }
}

Json VerifyOutput::to_json(const Finding& finding) const {
  Json object = json_of(finding);
  if (const auto file = options_.files.find(finding.index); file != options_.files.end()) {
    object["file"] = file->second;
  }
  return object;
}

std::string VerifyOutput::text_of(const Finding& finding) const {
  std::string line = to_string(finding.kind);
  if (!finding.index.empty()) {
    line += ' ' + finding.index;
  }
  line += fmt::format(" shard {}", finding.shard);
  if (!is_about_table(finding.kind)) {
    line += " entity " + to_string(finding.entity_id);
  }
  if (!finding.values.empty()) {
    line += ' ' + finding.values;
  }
  if (finding.holder) {
    line += " is that of entity " + to_string(*finding.holder);
  }
  const auto file = options_.files.find(finding.index);
  if (finding.kind == FindingKind::definition_differs && file != options_.files.end()) {
    line += " (" + file->second + ")";
  }
  return line;
}

void VerifyOutput::finish(const VerifyReport& report, std::uint32_t shards) {
  const bool compared = !options_.definitions_only;
  const std::vector<VerifiedPlace> places = verified_places(report, shards, compared);
  if (globals_.json()) {
    print_summary({{"consistent", report.found == 0},
                   {"entities", report.entities},
                   {"deleted", report.deleted},
                   {"findings", report.found},
                   {"repaired", report.repaired},
                   {"looked_again", report.looked_again},
                   {"in_flight", report.in_flight},
                   {"indexes", json_counts(places)},
                   {"indexing", json_of(report.indexing)}});
    print_indexing(report.indexing, {.only_warnings = true});
    return;
  }
  print_left_out(repaired_, "repaired ");
  print_left_out(counts_, "");
  if (compared) {
    print_verified(places);
    print_indexing(report.indexing, {});
  }
  print_notes(report);
}

void VerifyOutput::print_left_out(const Counts& counts, std::string_view what) const {
  for (const auto& [counted_as, count] : counts) {
    if (!options_.all && count > samples_of_a_kind) {
      const auto& [place, kind] = counted_as;
      print_line(fmt::format("... {} more {}{} {} shard {}", grouped(count - samples_of_a_kind), what, to_string(kind),
                             name_of(place.first), place.second));
    }
  }
}

void VerifyOutput::print_notes(const VerifyReport& report) const {
  if (report.looked_again > 0) {
    print_note(fmt::format("{} rechecked, {} {} being written", counted(report.looked_again, "suspect", "suspects"),
                           grouped(report.in_flight), report.in_flight == 1 ? "was" : "were"));
  }
  print_note(conclusion(report));
  for (const std::string& line : advice_of(report, options_.repair)) {
    print_note(line);
  }
}

std::string VerifyOutput::conclusion(const VerifyReport& report) const {
  const std::string what =
      options_.definitions_only ? "definitions" : counted_with_deleted(report.entities, report.deleted);
  // Without a finding, an index is left out only if it is building or being dropped.
  const bool left_out = !options_.definitions_only && report.found == 0 && !report.unverified.empty();
  const std::string names = fmt::format("{}", fmt::join(report.unverified, ", "));
  if (left_out && report.verified.empty()) {
    return fmt::format("{} verified, but no index, because none is ready: {}", what, names);
  }
  std::string text = fmt::format("{} verified: {}", what,
                                 report.found == 0 ? "consistent" : counted(report.found, "finding", "findings"));
  if (options_.repair) {
    text += fmt::format(", {} repaired", counted(report.repaired, "entity", "entities"));
  }
  return left_out ? fmt::format("{}; not checked, because not ready: {}", text, names) : text;
}

std::set<VerifyOutput::Place> VerifyOutput::checked_places(const VerifyReport& report, std::uint32_t shards) const {
  std::set<Place> places;
  if (!options_.definitions_only && report.entities == 0 && report.found > 0) {
    return places;  // no entity was read: a table of the program's own is not in order, or the store has none
  }
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    if (!options_.definitions_only) {
      places.emplace("", shard);
      continue;
    }
    for (const std::string& index : report.verified) {
      places.emplace(index, shard);
    }
  }
  return places;
}

std::string VerifyOutput::junit(const VerifyReport& report, std::uint32_t shards, const Error* error) const {
  std::map<Place, std::map<FindingKind, std::uint64_t>> cases;
  if (error == nullptr) {
    for (const Place& place : checked_places(report, shards)) {
      cases[place];
    }
  }
  for (const auto& [place, count] : report.counts) {
    cases[place];
  }
  for (const auto& [what, count] : counts_) {
    cases[what.first][what.second] = count;
  }
  std::vector<JunitCase> report_cases;
  for (const auto& [place, kinds] : cases) {
    const auto samples = samples_.find(place);
    report_cases.push_back(junit_case(name_of(place.first), place.second, kinds,
                                      samples == samples_.end() ? std::vector<std::string>() : samples->second));
  }
  std::string lines;
  for (const auto& [index, counts] : report.indexing) {
    lines += fmt::format("{}\n", fmt::join(lines_of(index, counts), "\n"));
  }
  return junit_report(suite, report_cases, error, started_, lines);
}

}  // namespace looseleaf::cli

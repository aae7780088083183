// looseleaf verify: prove that index tables and entities agree, or list where they do not.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cli/commands.hpp"
#include "cli/connect.hpp"
#include "cli/job.hpp"
#include "cli/json.hpp"
#include "cli/messages.hpp"
#include "cli/text.hpp"
#include "cli/throttle_options.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::uint64_t samples_of_a_kind = 20;
constexpr FindingKind row_kinds[] = {FindingKind::missing, FindingKind::stale, FindingKind::orphan,
                                     FindingKind::misplaced};

struct Options {
  std::vector<std::string> tables;
  bool repair = false;
  bool all = false;
  std::uint64_t grace = VerifyOptions{}.grace_seconds;
  Throttle throttle;
};

bool is_about_table(FindingKind kind) {
  return kind == FindingKind::table_differs || kind == FindingKind::catalog_differs;
}

std::uint64_t count_of(const VerifyReport::Count& count, FindingKind kind) {
  const auto found = count.findings.find(kind);
  return found == count.findings.end() ? 0 : found->second;
}

std::string format_finding(const Finding& finding) {
  std::string line = to_string(finding.kind);
  if (!finding.index.empty()) {
    line += ' ' + finding.index;
  }
  line += fmt::format(" shard {}", finding.shard);
  if (!is_about_table(finding.kind)) {
    line += " entity " + to_string(finding.entity_id);
  }
  return finding.values.empty() ? line : line + ' ' + finding.values;
}

void print_findings(const VerifyReport& report, bool all) {
  std::map<std::pair<std::string, FindingKind>, std::uint64_t> seen;
  for (const auto& finding : report.findings) {
    if (all || ++seen[{finding.index, finding.kind}] <= samples_of_a_kind) {
      print_line(format_finding(finding));
    }
  }
  for (const auto& [what, count] : seen) {
    if (count > samples_of_a_kind) {
      print_line(fmt::format("... {} more {}{}", grouped(count - samples_of_a_kind), to_string(what.second),
                             what.first.empty() ? "" : " in " + what.first));
    }
  }
}

void print_counts(const VerifyReport& report) {
  std::vector<Column> columns{{"index"}, {"shard", true}, {"rows", true}};
  for (const auto kind : row_kinds) {
    columns.push_back({to_string(kind), true});
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [where, count] : report.counts) {
    std::vector<std::string> row{where.first, std::to_string(where.second), std::to_string(count.rows)};
    for (const auto kind : row_kinds) {
      row.push_back(std::to_string(count_of(count, kind)));
    }
    rows.push_back(std::move(row));
  }
  for (const auto& line : format_table(columns, rows)) {
    print_line(line);
  }
}

Json values_of(const Finding& finding) {
  Json values = Json::parse(finding.values, nullptr, false);
  return values.is_discarded() ? Json(finding.values) : values;
}

Json json_of(const Finding& finding) {
  return {{"kind", to_string(finding.kind)},
          {"index", finding.index.empty() ? Json(nullptr) : Json(finding.index)},
          {"shard", finding.shard},
          {"entity_id", is_about_table(finding.kind) ? Json(nullptr) : Json(to_string(finding.entity_id))},
          {"values", values_of(finding)}};
}

Json json_counts(const VerifyReport& report) {
  Json indexes = Json::array();
  for (const auto& [where, count] : report.counts) {
    Json row{{"index", where.first}, {"shard", where.second}, {"rows", count.rows}};
    for (const auto kind : row_kinds) {
      row[to_string(kind)] = count_of(count, kind);
    }
    indexes.push_back(std::move(row));
  }
  return indexes;
}

void print_as_json(const VerifyReport& report) {
  for (const auto& finding : report.findings) {
    print_json(json_of(finding));
  }
  print_json({{"consistent", report.findings.empty()},
              {"entities", report.entities},
              {"findings", report.findings.size()},
              {"repaired", report.repaired},
              {"looked_again", report.looked_again},
              {"indexes", json_counts(report)}});
}

void print_as_text(const VerifyReport& report, const Options& options, const Globals& globals) {
  print_findings(report, options.all);
  print_counts(report);
  if (globals.quiet) {
    return;
  }
  std::string note =
      fmt::format("{} verified: {}", counted(report.entities, "entity", "entities"),
                  report.findings.empty() ? "consistent" : counted(report.findings.size(), "finding", "findings"));
  if (options.repair) {
    note += fmt::format(", {} repaired", counted(report.repaired, "entity", "entities"));
  }
  print_note(note);
}

ExitStatus run(const Options& options, const Globals& globals) {
  VerifyOptions how;
  how.tables = options.tables;
  how.repair = options.repair;
  how.throttle = options.throttle;
  how.grace_seconds =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(options.grace, std::numeric_limits<std::uint32_t>::max()));
  Datastore store = open_store(globals);
  const VerifyReport report = run_job(globals, [&](JobControl& control) { return store.verify(how, control); });
  if (globals.json()) {
    print_as_json(report);
  } else {
    print_as_text(report, options, globals);
  }
  return report.findings.empty() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

Command verify_command() {
  const auto options = std::make_shared<Options>();
  Command command;
  command.name = "verify";
  command.summary = "prove that indexes and entities agree, or list where they do not";
  command.parameters = {
      {"TABLE", "", "the indexes to verify; none: all", &options->tables},
      {"--repair", "", "mend what is found", &options->repair},
      {"--all", "", "list every finding, not 20 of a kind", &options->all},
      {"--grace", "S", "seconds that a superfluous row may stand before it is a finding; 10 if not given",
       &options->grace},
  };
  add_throttle_parameters(command, options->throttle);
  command.details = {
      "Works on a live store. The status is 0 if everything agrees, or does after a repair, and 1 if not."};
  command.examples = {"looseleaf verify", "looseleaf verify index_user_id --repair",
                      "looseleaf verify --output json > findings.jsonl"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli

// Runs a backfill and reports it.
#include "cli/commands/backfill_job.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/commands/job.hpp"
#include "cli/report/indexing_report.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {

namespace {

void print_unreadable(const BackfillReport& report) {
  Error::Context context = {{"entities", grouped(report.unreadable)}};
  for (const Uuid& id : report.unreadable_ids) {
    context.emplace_back("id", to_string(id));
  }
  if (report.unreadable > report.unreadable_ids.size()) {
    context.emplace_back("id", fmt::format("... {} more", grouped(report.unreadable - report.unreadable_ids.size())));
  }
  print_error(Error(ErrorCode::corrupt, "the bodies of some entities cannot be read, and no query finds these entities",
                    std::move(context),
                    "delete each of them and put it again; `looseleaf verify --all` lists all of them"));
}

// One error for each index that stays as it is.
void print_conflicts(const BackfillReport& report) {
  for (const auto& [index, conflicts] : report.conflicts) {
    Error::Context context = {{"index", index}, {"rows", grouped(conflicts.rows)}};
    for (const Finding& conflict : conflicts.examples) {
      context.emplace_back("values", fmt::format("{} in {} and {}", conflict.values, to_string(conflict.entity_id),
                                                 to_string(*conflict.holder)));
    }
    std::string all;
    if (conflicts.rows > conflicts.examples.size()) {
      context.emplace_back("values", fmt::format("... {} more", grouped(conflicts.rows - conflicts.examples.size())));
      all = fmt::format("; `looseleaf backfill {} --all` lists all of them", index);
    }
    print_error(Error(
        ErrorCode::refused, "a unique index stays building: several entities have the same values", std::move(context),
        fmt::format(
            "change or delete all but one of each, at best those that are named first, then run `looseleaf "
            "backfill {0}`{1}; the one named second keeps others from taking the value, unless you give the index "
            "up: `looseleaf drop-index {0}`",
            index, all)));
  }
}

void print_notes(const BackfillReport& report) {
  if (report.ready.empty() && report.conflicts.empty()) {
    if (!report.left_out.empty()) {
      return;
    }
    print_note("nothing to fill: no index is building");
    return;
  }
  if (report.entities == 0 && report.rows == 0 && report.reconciled == 0 && report.conflicts.empty()) {
    for (const auto& table : report.ready) {
      print_note(fmt::format("{}: ready, there was nothing to fill", table));
    }
    return;
  }
  print_note(fmt::format("read {}, wrote {}, rechecked {}", counted_with_deleted(report.entities, report.deleted),
                         counted(report.rows, "index row", "index rows"),
                         counted(report.reconciled, "changed entity", "changed entities")));
  for (const auto& table : report.ready) {
    print_note(fmt::format("{}: ready", table));
  }
}

}  // namespace

Json to_json(const BackfillReport& report) {
  Json ids = Json::array();
  for (const Uuid& id : report.unreadable_ids) {
    ids.push_back(to_string(id));
  }
  Json conflicts = Json::object();
  for (const auto& [index, of_index] : report.conflicts) {
    Json examples = Json::array();
    for (const Finding& conflict : of_index.examples) {
      examples.push_back({{"entity_id", to_string(conflict.entity_id)},
                          {"holder", to_string(*conflict.holder)},
                          {"values", Json::parse(conflict.values)}});
    }
    conflicts[index] = {{"rows", of_index.rows}, {"examples", std::move(examples)}};
  }
  return {{"ready", report.ready},
          {"entities", report.entities},
          {"deleted", report.deleted},
          {"rows", report.rows},
          {"reconciled", report.reconciled},
          {"unreadable", report.unreadable},
          {"unreadable_ids", std::move(ids)},
          {"conflicts", std::move(conflicts)},
          {"indexing", json_of(report.indexing)}};
}

BackfillReport backfill(Datastore& store, const BackfillOptions& options, const Globals& globals) {
  BackfillReport report = run_job(
      globals, [&](JobControl& control) { return store.backfill(options, control); }, true);
  print_indexing(report.indexing, {});
  print_notes(report);
  if (report.unreadable > 0) {
    print_unreadable(report);
  }
  print_conflicts(report);
  for (const Error& error : report.left_out) {
    print_error(error);
  }
  return report;
}

ExitStatus exit_status_of(const BackfillReport& report) {
  return report.unreadable == 0 && report.conflicts.empty() && report.left_out.empty() ? ExitStatus::done
                                                                                       : ExitStatus::negative;
}

}  // namespace looseleaf::cli

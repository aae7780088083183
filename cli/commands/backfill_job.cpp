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

void print_notes(const BackfillReport& report) {
  if (report.ready.empty()) {
    print_note("nothing to fill: no index is building");
    return;
  }
  if (report.entities == 0 && report.rows == 0 && report.reconciled == 0) {
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
  return {{"ready", report.ready},
          {"entities", report.entities},
          {"deleted", report.deleted},
          {"rows", report.rows},
          {"reconciled", report.reconciled},
          {"unreadable", report.unreadable},
          {"unreadable_ids", std::move(ids)},
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
  return report;
}

ExitStatus exit_status_of(const BackfillReport& report) {
  return report.unreadable == 0 ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace looseleaf::cli

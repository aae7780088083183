// Runs a backfill and reports it.
#include "cli/commands/backfill_job.hpp"

#include <fmt/format.h>

#include "cli/commands/job.hpp"
#include "cli/report/indexing_report.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {

Json to_json(const BackfillReport& report) {
  return {{"ready", report.ready}, {"entities", report.entities},     {"deleted", report.deleted},
          {"rows", report.rows},   {"reconciled", report.reconciled}, {"indexing", json_of(report.indexing)}};
}

BackfillReport backfill(Datastore& store, const BackfillOptions& options, const Globals& globals) {
  BackfillReport report = run_job(
      globals, [&](JobControl& control) { return store.backfill(options, control); }, true);
  print_indexing(report.indexing, {.quiet = globals.quiet});
  if (globals.quiet) {
    return report;
  }
  if (report.ready.empty()) {
    print_note("nothing to fill: no index is building");
    return report;
  }
  if (report.entities == 0 && report.rows == 0 && report.reconciled == 0) {
    for (const auto& table : report.ready) {
      print_note(fmt::format("{}: ready, there was nothing to fill", table));
    }
    return report;
  }
  print_note(fmt::format("read {}, wrote {}, rechecked {}", counted_with_deleted(report.entities, report.deleted),
                         counted(report.rows, "index row", "index rows"),
                         counted(report.reconciled, "changed entity", "changed entities")));
  for (const auto& table : report.ready) {
    print_note(fmt::format("{}: ready", table));
  }
  return report;
}

}  // namespace looseleaf::cli

// Backfilling.
#include "cli/backfill_job.hpp"

#include <fmt/format.h>

#include "cli/job.hpp"
#include "cli/json.hpp"
#include "cli/messages.hpp"
#include "cli/text.hpp"

namespace looseleaf::cli {

void backfill(Datastore& store, const BackfillOptions& options, const Globals& globals) {
  const BackfillReport report = run_job(
      globals, [&](JobControl& control) { return store.backfill(options, control); }, true);
  if (globals.json()) {
    print_json({{"ready", report.ready},
                {"entities", report.entities},
                {"rows", report.rows},
                {"reconciled", report.reconciled}});
  }
  if (globals.quiet) {
    return;
  }
  if (report.ready.empty()) {
    print_note("nothing to fill: no index is in state building");
    return;
  }
  print_note(fmt::format("read {}, sent {}, reconciled {}", counted(report.entities, "entity", "entities"),
                         counted(report.rows, "index row", "index rows"), grouped(report.reconciled)));
  for (const auto& table : report.ready) {
    print_note(fmt::format("{}: ready", table));
  }
}

}  // namespace looseleaf::cli

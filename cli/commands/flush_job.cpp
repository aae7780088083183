// The flush of `flush` and `refused retry`.
#include "cli/commands/flush_job.hpp"

#include "cli/commands/job.hpp"
#include "cli/report/flush_report.hpp"

namespace looseleaf::cli {

ExitStatus flush_and_report(Datastore& store, const Globals& globals) {
  FlushReport report;
  try {
    run_job(globals, [&](JobControl& control) { store.flush(control, report); });
  } catch (const Error&) {
    if (report.stored > 0 || report.refused > 0) {
      static_cast<void>(report_flush(report, globals));
    }
    throw;
  }
  return report_flush(report, globals);
}

}  // namespace looseleaf::cli

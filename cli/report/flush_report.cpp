// What `flush` and `refused retry` report.
#include "cli/report/flush_report.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "cli/report/failure_digest.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {

ExitStatus report_flush(const FlushReport& report, const Globals& globals) {
  FailureDigest failures("shards", printed_of_a_kind(globals));
  std::set<std::pair<std::string, Error::Context>> told;  // shards of a server fail together
  for (const auto& [shard, failure] : report.failures) {
    Error error = failure;
    error.with("shard", std::to_string(shard));
    if (told.emplace(error.what(), error.context()).second) {
      failures.add(error);
    }
  }
  failures.finish(hint_for_others);
  if (globals.json()) {
    print_summary({{"stored", report.stored}, {"refused", report.refused}, {"left", report.left}});
  }
  std::string text = "stored " + counted(report.stored, "buffered write", "buffered writes");
  if (report.refused > 0) {
    text += fmt::format(", refused {}; `looseleaf refused list` shows them", grouped(report.refused));
  }
  if (report.left > 0) {
    text += fmt::format("; {} left, so flush again when the servers answer", grouped(report.left));
  }
  print_note(text);
  return report.left > 0 || !report.failures.empty() ? ExitStatus::failed
         : report.refused > 0                        ? ExitStatus::negative
                                                     : ExitStatus::done;
}

}  // namespace looseleaf::cli

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

namespace {

// Shards of a server fail together, and so do all shards of a store that is frozen.
Error::Context without_place(Error::Context context) {
  std::erase_if(context, [](const auto& fact) { return fact.first == "shard" || fact.first == "database"; });
  return context;
}

}  // namespace

ExitStatus report_flush(const FlushReport& report, const Globals& globals) {
  FailureDigest failures("shards", printed_of_a_kind(globals));
  std::set<std::pair<std::string, Error::Context>> told;
  for (const auto& [shard, failure] : report.failures) {
    Error error = failure;
    if (told.emplace(error.what(), without_place(error.context())).second) {
      failures.add(error.with("shard", std::to_string(shard)));
    }
  }
  failures.finish();
  if (globals.json()) {
    print_summary({{"stored", report.stored},
                   {"refused", report.refused},
                   {"left", report.left_is_known ? Json(report.left) : Json(nullptr)}});
  }
  std::string text = "stored " + counted(report.stored, "buffered write", "buffered writes");
  if (report.refused > 0) {
    text += ", refused " + grouped(report.refused);
  }
  if (report.left > 0) {
    text += fmt::format(", left {}", grouped(report.left));
  }
  if (!report.left_is_known) {
    text += "; not all buffered writes were seen";
  }
  print_note(text + (report.refused > 0 ? "; see `looseleaf refused list`" : ""));
  return report.left > 0 || !report.failures.empty() ? ExitStatus::failed
         : report.refused > 0                        ? ExitStatus::negative
                                                     : ExitStatus::done;
}

}  // namespace looseleaf::cli

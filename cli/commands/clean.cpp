// looseleaf clean: reconcile what puts left, sweep superfluous rows.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/job.hpp"
#include "cli/commands/throttle_options.hpp"
#include "cli/files/replace_file.hpp"
#include "cli/report/clean_metrics.hpp"
#include "cli/report/repeated_failure.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct CleanArguments {
  CleanOptions clean;
  std::optional<std::uint64_t> full_every, keep_tombstones;  // seconds
  std::string metrics_file;
};

std::string summary(const CleanReport& report) {
  return fmt::format("checked {}, deleted {}, inserted {}, purged {}", counted(report.checked, "entity", "entities"),
                     counted(report.deleted(), "index row", "index rows"), grouped(report.inserted()),
                     counted(report.purged, "tombstone", "tombstones")) +
         (report.flushed > 0 ? ", stored " + counted(report.flushed, "buffered write", "buffered writes") : "") +
         (report.refused > 0 ? fmt::format(", refused {}", grouped(report.refused)) : "");
}

Json to_json(const CleanReport& report) {
  Json repaired = Json::object();
  for (const auto& [kind, count] : report.mended) {
    repaired[to_string(kind)] = count;
  }
  return {{"checked", report.checked},    {"deleted", report.deleted()}, {"inserted", report.inserted()},
          {"purged", report.purged},      {"flushed", report.flushed},   {"refused", report.refused},
          {"mended", std::move(repaired)}};
}

// Reports the passes of one run to people and to their monitoring.
class Passes {
 public:
  Passes(const CleanArguments& options, const Globals& globals) : options_(options), globals_(globals) {
    if (!options_.metrics_file.empty() && std::filesystem::is_regular_file(options_.metrics_file)) {
      constexpr std::size_t most = 1 << 20;
      std::ifstream file(options_.metrics_file);
      metrics_.go_on_from(base::read_at_most(file, most));
    }
    write_metrics();  // fails at once if the file cannot be written
  }

  void ended(const CleanPass& pass) {
    if (!options_.metrics_file.empty()) {
      metrics_.count(pass, std::time(nullptr));
      store_metrics();
    }
    last_ = pass.report;
    const bool stopped = pass.failure && pass.failure->code() == ErrorCode::interrupted;
    if (options_.clean.follow && !stopped) {
      tell_of_failures(pass);
      tell_of_changes(pass.report);
    }
  }

  void waits() {
    if (!options_.metrics_file.empty()) {
      metrics_.wait();
      store_metrics();
    }
  }

  // Reports a run that was interrupted or failed. Its work is kept.
  void broken_off() const {
    if (last_ && (last_->checked > 0 || changes_of(*last_) > 0)) {
      print_note(summary(*last_));
    }
  }

  // Throws if the last metrics cannot be written.
  void check_metrics() const {
    if (!options_.metrics_file.empty()) {
      write_metrics();
    }
  }

 private:
  static std::uint64_t changes_of(const CleanReport& report) {
    return report.deleted() + report.inserted() + report.purged + report.flushed + report.refused;
  }

  void store_metrics() {
    try {
      write_metrics();
      file_failure_.tell(nullptr);
    } catch (const Error& error) {
      file_failure_.tell(&error);
    }
  }

  void write_metrics() const {
    if (!options_.metrics_file.empty()) {
      replace_file(options_.metrics_file, metrics_.text(), public_file);
    }
  }

  void tell_of_failures(const CleanPass& pass) {
    if (pass.sweep) {
      sweep_failure_.tell(pass.failure);
      return;
    }
    std::vector<const Error*> failures;
    if (pass.failure) {
      failures.push_back(pass.failure);
    }
    for (const Error& failure : pass.purge_failures) {
      failures.push_back(&failure);
    }
    pass_failure_.tell(failures);
  }

  void tell_of_changes(const CleanReport& report) {
    const std::uint64_t changes = changes_of(report);
    if (changes == changes_) {
      return;
    }
    changes_ = changes;
    if (globals_.json()) {
      Json event = {{"event", "pass"}};
      event.update(to_json(report));
      print_json(event);
      static_cast<void>(data_output().flush());
    } else {
      print_note("so far: " + summary(report));
    }
  }

  const CleanArguments& options_;
  const Globals& globals_;
  CleanMetrics metrics_;
  RepeatedFailure pass_failure_{"clean"}, sweep_failure_{"the full sweep"}, file_failure_{"the metrics file"};
  std::optional<CleanReport> last_;
  std::uint64_t changes_ = 0;  // after the last pass
};

ExitStatus run(CleanArguments options, const Globals& globals) {
  if (options.full_every && !(options.clean.full && options.clean.follow)) {
    throw Error(ErrorCode::usage, "--full-every needs --full and --follow", {},
                "give all three options, or leave --full-every out");
  }
  if (options.full_every) {
    options.clean.full_every = std::chrono::seconds(*options.full_every);
  }
  if (options.keep_tombstones) {
    options.clean.keep_tombstones = std::chrono::seconds(*options.keep_tombstones);
  }
  Passes passes(options, globals);
  options.clean.on_pass = [&](const CleanPass& pass) { passes.ended(pass); };
  options.clean.on_wait = [&](const Error& error) {
    print_warning("waiting to clean", as_reason(error));
    passes.waits();
  };
  Datastore store = open_store(globals, options.clean.follow ? Waits::told_by_failure : Waits::warned_of);
  CleanReport report;
  try {
    report = run_job(globals, [&](JobControl& control) { return store.clean(options.clean, control); });
  } catch (const Error&) {
    passes.broken_off();
    throw;
  }
  passes.check_metrics();
  if (globals.json()) {
    print_summary(to_json(report));
  }
  print_note(summary(report));
  return ExitStatus::done;
}

}  // namespace

Command clean_command() {
  const auto options = std::make_shared<CleanArguments>();
  Command command;
  command.name = "clean";
  command.summary = "delete the superfluous index rows that puts left";
  command.parameters = {
      {.name = "--full",
       .help = "sweep everything, not only what puts noted",
       .target = &options->clean.full,
       .details = "A sweep also deletes what no cleanup record names: rows that a put left when it died before its "
                  "commit. With `--follow` there is a sweep at once and then every day, beside the passes."},
      {.name = "--follow",
       .help = "continue until stopped, and repair within seconds what puts left",
       .target = &options->clean.follow,
       .details =
           "An idle store costs two small queries a second for up to 32 shards of a server, some for each shard a "
           "minute, and on shard 0 one more a second, and an update of the heartbeat every ten seconds. A server that "
           "fails is reported once, and every pass tries it again. A purge of tombstones that fails is reported "
           "once, and tried again after 5 s, or twice the time that it took, but at most a minute. A sweep that fails "
           "is reported once, and tried again after a minute. A message says when they work again."},
      {.name = "--full-every",
       .value = "S",
       .help = "with `--follow` and `--full`: seconds from one sweep to the next; default 86400",
       .target = &options->full_every,
       .range = {.least = 1, .most = longest_seconds}},
      {.name = "--keep-tombstones",
       .value = "S",
       .help = "seconds for which deletes are kept for a trigger that is late; default 604800",
       .target = &options->keep_tombstones,
       .range = {.most = longest_seconds},
       .details = "Without such a trigger they are kept for a day, and as long as a copy or an unfinished backfill "
                  "needs them. A trigger that is later is told so, and must begin again."},
      {.name = "--metrics-file",
       .value = "FILE",
       .help = "keep counts, errors and lag in a file for Prometheus' node exporter",
       .target = &options->metrics_file,
       .details = "The file is replaced as a whole after every pass."},
  };
  add_throttle_parameters(command, options->clean.throttle);
  command.details = {
      "A put deletes the index rows that it makes superfluous, and stores a cleanup record that says which entities it "
      "has not done that for yet. The command does it for puts that died. It stores what `put --buffer` has kept, as "
      "`looseleaf flush` does; if some of it is refused, the exit status is 0 all the same. It purges tombstones that "
      "are older than a "
      "day. Queries never show "
      "such rows, but they take space. If a ready index lacks rows, which must never happen, the command inserts them "
      "and prints a warning.",
      "One process at a time cleans a cluster; with `--follow` a second one waits until the first has ended. A run "
      "that is stopped by a signal prints what it has done. The options that hold the job back apply to passes and "
      "sweeps separately."};
  command.examples = {
      {"Run one pass", "looseleaf clean"},
      {"Sweep everything, slowly", "looseleaf clean --full --max-rate 20000"},
      {"Run as a service",
       "looseleaf clean --follow --full \\\n  --metrics-file /var/lib/prometheus/node-exporter/looseleaf.prom"}};
  command.see_also = {"verify", "delete"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli

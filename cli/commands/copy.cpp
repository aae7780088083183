// looseleaf copy: make another cluster hold the same indexes and entities.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/feed_options.hpp"
#include "cli/commands/job.hpp"
#include "cli/commands/throttle_options.hpp"
#include "cli/report/failure_digest.hpp"
#include "cli/report/repeated_failure.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct CopyArguments {
  std::string to;
  bool detach = false, force = false, finish = false;
  std::optional<std::uint64_t> freeze_limit;
  CopyOptions copy;
};

// Throws Error(usage) for options that do not go together.
void check(const CopyArguments& options) {
  const auto refuse_both = [](bool one, bool other, const char* names, const char* hint) {
    if (one && other) {
      throw Error(ErrorCode::usage, "options that exclude each other", {{"options", names}}, hint);
    }
  };
  const auto refuse_without = [](bool given, bool needed, const char* what) {
    if (given && !needed) {
      throw Error(ErrorCode::usage, what, {}, "leave it out");
    }
  };
  if (options.to.empty()) {
    throw Error(ErrorCode::usage, "which cluster to copy to?", {}, "give its cluster file: --to FILE");
  }
  refuse_both(options.detach, options.copy.follow, "--follow, --detach",
              "stop the copy that follows, and then detach it");
  refuse_both(options.finish, options.copy.follow, "--follow, --finish",
              "stop the copy that follows, and then finish it");
  refuse_both(options.finish, options.detach, "--detach, --finish",
              "--finish moves this store to the other cluster; --detach leaves it as it is");
  refuse_without(options.force, options.detach, "--force is for --detach only");
  if (const auto throttle = given_option(options.copy.throttle); options.force && !throttle.empty()) {
    throw Error(ErrorCode::usage, "--force copies nothing, so there is nothing to hold back", {},
                fmt::format("leave {} out", throttle));
  }
  refuse_without(options.freeze_limit.has_value(), options.finish, "--freeze-limit is for --finish only");
}

// A copy that is detached is not copied to again.
constexpr const char* hint_after_detach =
    "repair what cannot be read here, and put it into the other cluster, too, which lacks it";

Error not_copied(const Uuid& id, const Error& reason, bool detached) {
  return {ErrorCode::corrupt,
          "an entity was not copied, because it cannot be read",
          {{"id", to_string(id)}, {"reason", reason.what()}},
          detached ? hint_after_detach : "put or delete this entity; the next run copies that"};
}

void tell_of_other(const Error* failure) {
  if (failure != nullptr) {
    const Error again = repeated(*failure);
    print_warning(again.what(), again.context(), again.hint());
  } else {
    print_note("the copy goes on");
  }
}

Json summary_of(const CopyReport& report) {
  return {{"created", report.created},
          {"dropped", report.dropped},
          {"written", report.written},
          {"unreadable", report.unreadable}};
}

void print_report(const CopyReport& report, const Globals& globals) {
  if (globals.json()) {
    print_summary(summary_of(report));
    return;
  }
  print_note(fmt::format("created {}, dropped {}, wrote {}", counted(report.created.size(), "index", "indexes"),
                         counted(report.dropped.size(), "index", "indexes"),
                         counted(report.written, "version", "versions")));
}

void print_report(const MoveReport& report, const std::string& to, const Globals& globals) {
  if (globals.json()) {
    Json summary = summary_of(report.copy);
    summary.update({{"compared", report.compared},
                    {"differences", report.differences},
                    {"compared_again", report.compared_again},
                    {"triggers", report.triggers},
                    {"blocked_seconds", std::chrono::duration<double>(report.blocked).count()},
                    {"was_decided", report.was_decided}});
    print_summary(summary);
  } else if (!report.was_decided && report.differences == 0) {
    print_report(report.copy, globals);
    print_note(fmt::format("compared {}; writers waited for {:.2f} s", counted(report.compared, "entity", "entities"),
                           std::chrono::duration<double>(report.blocked).count()));
    if (!report.triggers.empty()) {
      print_note(fmt::format("{} there from now on: {}",
                             report.triggers.size() == 1 ? "a trigger begins" : "triggers begin",
                             fmt::join(report.triggers, ", ")));
    }
  }
  if (report.differences > 0) {
    print_error(Error(ErrorCode::corrupt, "the other cluster differs from this store, so the store has not moved",
                      {{"entities", std::to_string(report.differences)}},
                      "put or delete these entities in this store, and run the command again; an entity that only the "
                      "other one has must be put here before it can be deleted"));
    return;
  }
  print_note(fmt::format("the store has moved{}; use the cluster file {}", report.was_decided ? " already" : "", to));
}

// Passes differences on to the digest, like an entity that cannot be read.
Error differs(const Difference& difference) {
  Error error(ErrorCode::corrupt, "an entity is not the same in the other cluster",
              {{"id", to_string(difference.entity_id)}, {"difference", to_string(difference.kind)}}, "");
  if (!difference.reason.empty()) {
    error.with("reason", difference.reason);
  }
  return error;
}

ExitStatus finish(const Datastore& store, Datastore& other, const CopyArguments& options, const CopyOptions& copy,
                  FailureDigest& unreadables, const Globals& globals) {
  FailureDigest differences("entities", printed_of_a_kind(globals));
  MoveOptions move{.copy = copy, .on_difference = [&](const Difference& found) { differences.add(differs(found)); }};
  if (options.freeze_limit) {
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();  // move_to() refuses even less
    move.freeze_limit = std::chrono::seconds(std::min(*options.freeze_limit, most));
  }
  const MoveReport report = run_job(globals, [&](JobControl& control) { return store.move_to(other, move, control); });
  unreadables.finish();
  differences.finish();
  print_report(report, options.to, globals);
  return report.differences == 0 ? ExitStatus::done : ExitStatus::negative;
}

ExitStatus run(const CopyArguments& options, const Globals& globals) {
  check(options);
  const Datastore store = open_store(globals, options.copy.follow ? Waits::told_by_failure : Waits::warned_of);
  Datastore other = open_other_store(options.to, globals);
  const std::string hint = options.finish   ? hint_for_others
                           : options.detach ? hint_after_detach
                                            : "put or delete these entities; the next run copies that";
  FailureDigest unreadables("entities", printed_of_a_kind(globals), FailureDigest::Severity::error, hint);
  CopyOptions copy = options.copy;
  copy.on_unreadable = [&](const Uuid& id, const Error& reason) {
    unreadables.add(not_copied(id, reason, options.detach));
  };
  copy.on_failure = [](std::optional<std::uint32_t> shard, const Error* failure) {
    shard ? tell_of_failure(*shard, failure) : tell_of_other(failure);
  };
  if (options.copy.follow) {
    copy.on_caught_up = [] { print_note("the copy has caught up, and follows what changes"); };
  }
  if (options.finish) {
    return finish(store, other, options, copy, unreadables, globals);
  }
  const CopyEnd end = options.force ? CopyEnd::as_it_is : CopyEnd::caught_up;
  const CopyReport report = run_job(globals, [&](JobControl& control) {
    return options.detach ? store.detach_copy(other, end, copy, control) : store.copy_to(other, copy, control);
  });
  unreadables.finish();
  if (!options.force) {
    print_report(report, globals);
  }
  if (options.detach) {
    print_note("the other cluster is a store of its own now, and open");
  } else if (stop_requested()) {
    return exit_status_of_signal(stop_signal());
  }
  return report.unreadable == 0 ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

Command copy_command() {
  const auto options = std::make_shared<CopyArguments>();
  Command command;
  command.name = "copy";
  command.summary = "make another cluster hold the same indexes and entities";
  command.parameters = {
      {.name = "--to",
       .value = "FILE",
       .help = "the cluster file of the other cluster; must be given",
       .target = &options->to,
       .details = "Its user and its option file are those that this file names."},
      {.name = "--follow",
       .help = "go on with everything that changes, until stopped",
       .target = &options->copy.follow,
       .details = "A note says when the copy has caught up. Failures are reported once, and tried again every second."},
      {.name = "--detach",
       .help = "catch up, end the copy, and open the other cluster as a store of its own",
       .target = &options->detach,
       .details =
           "What is put in this store after that is not there, nor is what earlier runs could not read. To move this "
           "store, use `--finish`, which compares both."},
      {.name = "--finish",
       .help = "move this store to the other cluster: catch up, compare, and open that one instead",
       .target = &options->finish,
       .details = "Writers wait for a moment, and are then told that the store has moved. No write is lost. It can be "
                  "repeated."},
      {.name = "--freeze-limit",
       .value = "S",
       .help = "give up --finish when writers have waited this long (default 10)",
       .target = &options->freeze_limit,
       .details = "If the command dies, writers open the store again after this time. It should be shorter than their "
                  "--timeout."},
      {.name = "--force",
       .help = "with `--detach`: detach the other cluster as it is",
       .target = &options->force,
       .details = "It may hold only a part of this store, or the writes of others."},
  };
  add_throttle_parameters(command, options->copy.throttle);
  command.details = {
      "The other cluster may have another number of shards, other servers, and the other vendor's. Run "
      "`looseleaf init` there first. It must be empty, or a copy that this command has begun. Its indexes are created, "
      "then all entities are copied, and then what has changed since. The command ends when everything is copied that "
      "was stored when it "
      "began. It can be interrupted at any time, and the next run goes on.",
      "Traffic in this store may continue. Until it is detached, the copy is frozen for everybody but this command. It "
      "can be read, but may be older than this store. Indexes that are created or dropped in this store meanwhile "
      "follow with "
      "the next run.",
      "An entity that cannot be read is not copied. An error of this run names it, and the exit status is 1. Later "
      "runs do not name it again; `verify --against` does."};
  command.examples = {
      {"Copy a store to a new cluster, and keep the copy up to date", "looseleaf copy --to new.json --follow"},
      {"Move to the new cluster", "looseleaf copy --to new.json --finish"},
      {"Make a copy for tests", "looseleaf copy --to staging.json && looseleaf copy --to staging.json --detach"}};
  command.see_also = {"verify", "freeze", "export", "changes", "init", "looseleaf.json(5)"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli

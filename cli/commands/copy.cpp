// looseleaf copy: make another cluster hold the same indexes and entities.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/feed_options.hpp"
#include "cli/commands/job.hpp"
#include "cli/commands/throttle_options.hpp"
#include "cli/report/failure_digest.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct Options {
  std::string to;
  bool detach = false, force = false;
  CopyOptions copy;
};

Error not_copied(const Uuid& id, const Error& reason) {
  return {ErrorCode::corrupt,
          "an entity was not copied, because it cannot be read",
          {{"id", to_string(id)}, {"reason", reason.what()}},
          "put or delete this entity; the next run copies that"};
}

void tell_of_other(const Error* failure) {
  if (failure != nullptr) {
    const Error again = repeated(*failure);
    print_warning(again.what(), again.context(), again.hint());
  } else {
    print_note("the copy goes on");
  }
}

void print_report(const CopyReport& report, const Globals& globals) {
  if (globals.json()) {
    print_summary({{"created", report.created},
                   {"dropped", report.dropped},
                   {"written", report.written},
                   {"unreadable", report.unreadable}});
    return;
  }
  print_note(fmt::format("created {}, dropped {}, wrote {}", counted(report.created.size(), "index", "indexes"),
                         counted(report.dropped.size(), "index", "indexes"),
                         counted(report.written, "version", "versions")));
}

ExitStatus run(const Options& options, const Globals& globals) {
  if (options.to.empty()) {
    throw Error(ErrorCode::usage, "which cluster to copy to?", {}, "give its cluster file: --to FILE");
  }
  if (options.detach && options.copy.follow) {
    throw Error(ErrorCode::usage, "options that exclude each other", {{"options", "--follow, --detach"}},
                "stop the copy that follows, and then detach it");
  }
  if (options.force && !options.detach) {
    throw Error(ErrorCode::usage, "--force is for --detach only", {}, "leave --force out");
  }
  const Datastore store = open_store(globals, options.copy.follow ? Waits::told_by_failure : Waits::warned_of);
  Datastore other = open_other_store(options.to, globals);
  FailureDigest unreadables("entities", printed_of_a_kind(globals));
  CopyOptions copy = options.copy;
  copy.on_unreadable = [&](const Uuid& id, const Error& reason) { unreadables.add(not_copied(id, reason)); };
  copy.on_failure = [](std::optional<std::uint32_t> shard, const Error* failure) {
    shard ? tell_of_failure(*shard, failure) : tell_of_other(failure);
  };
  const CopyEnd end = options.force ? CopyEnd::as_it_is : CopyEnd::caught_up;
  const CopyReport report = run_job(globals, [&](JobControl& control) {
    return options.detach ? store.detach_copy(other, end, copy, control) : store.copy_to(other, copy, control);
  });
  unreadables.finish("put or delete these entities; the next run copies that");
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
  const auto options = std::make_shared<Options>();
  Command command;
  command.name = "copy";
  command.summary = "make another cluster hold the same indexes and entities";
  command.parameters = {
      {.name = "--to",
       .value = "FILE",
       .help = "the cluster file of the other cluster",
       .target = &options->to,
       .details = "Its user and its option file are those that this file names."},
      {.name = "--follow",
       .value = "",
       .help = "go on with everything that changes, until stopped",
       .target = &options->copy.follow,
       .details = "Failures are reported once, and tried again every second."},
      {.name = "--detach",
       .value = "",
       .help = "catch up, end the copy, and open the other cluster as a store of its own",
       .target = &options->detach,
       .details =
           "What is put in this store after that is not there. To move without a loss, `freeze` this store first."},
      {.name = "--force",
       .value = "",
       .help = "detach the other cluster as it is",
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
      "can be read, but what it holds is late. Indexes that are created or dropped in this store meanwhile follow with "
      "the next run.",
      "An entity that cannot be read is not copied. An error of this run names it, and the exit status is 1. Later "
      "runs do not name it again; `verify --against` does."};
  command.examples = {
      {"Copy a store to a new cluster, and keep the copy up to date", "looseleaf copy --to new.json --follow"},
      {"Make a copy for tests", "looseleaf copy --to staging.json && looseleaf copy --to staging.json --detach"}};
  command.see_also = {"export", "changes", "init", "looseleaf.json(5)"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli

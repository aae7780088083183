// looseleaf sandbox: private servers for trying and testing.
#include "cli/sandbox/sandbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <looseleaf/cluster.hpp>
#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct SandboxArguments {
  std::string action;
  std::string dir;
  std::optional<std::uint64_t> shards, servers;
};

ExitStatus start(const SandboxArguments& options, const Globals& globals) {
  SandboxOptions how;
  how.dir = options.dir;
  how.shards = static_cast<std::uint32_t>(options.shards.value_or(0));
  how.servers = static_cast<std::uint32_t>(options.servers.value_or(0));
  how.between = [] {
    if (stop_requested()) {
      throw Error(ErrorCode::interrupted, "stopped");
    }
  };
  std::optional<Sandbox> started;
  const Drain drain;
  try {
    started = Sandbox::start(how);
  } catch (const Error&) {
    if (!stop_requested()) {
      throw;
    }
    // The terminal also interrupts the program that creates data directories, so any error may come from the signal.
    print_note(
        fmt::format("interrupted; the started servers were stopped, and `looseleaf sandbox delete --dir {}` deletes "
                    "the files",
                    sandbox_directory(options.dir)));
    return exit_status_of_signal(stop_signal());
  }
  const Sandbox& sandbox = *started;
  if (globals.json()) {
    print_summary({{"cluster_file", sandbox.cluster_file()}});
  } else {
    print_line(sandbox.cluster_file());
  }
  print_note(fmt::format("{} on {} in {}", counted(sandbox.shards(), "shard", "shards"),
                         counted(sandbox.servers(), "server", "servers"), sandbox.dir()));
  return ExitStatus::done;
}

void report_stop(const SandboxStop& stop, const Globals& globals) {
  for (const auto number : stop.killed) {
    print_warning("a server did not stop in time and was killed", {{"server", std::to_string(number)}});
  }
  if (globals.json()) {
    print_summary({{"stopped", stop.stopped}});
  }
}

// Not a failure, so that a script can clean up without knowing whether its sandbox was started.
ExitStatus nothing_there(const SandboxArguments& options, const Globals& globals) {
  report_stop({}, globals);
  print_note(fmt::format("there is no sandbox in {}", sandbox_directory(options.dir)));
  return ExitStatus::done;
}

ExitStatus stop(const SandboxArguments& options, const Globals& globals) {
  auto sandbox = Sandbox::find(options.dir);
  if (!sandbox) {
    return nothing_there(options, globals);
  }
  const SandboxStop report = sandbox->stop();
  report_stop(report, globals);
  print_note(fmt::format("stopped {}; the data is kept", counted(report.stopped, "server", "servers")));
  return ExitStatus::done;
}

ExitStatus remove(const SandboxArguments& options, const Globals& globals) {
  auto sandbox = Sandbox::find(options.dir);
  if (!sandbox) {
    return nothing_there(options, globals);
  }
  const SandboxRemoval removal = sandbox->remove();
  report_stop(removal.stop, globals);
  print_note(removal.left == 0 ? fmt::format("deleted {}", sandbox->dir())
                               : fmt::format("deleted the sandbox in {}, but not the directory, which holds {}",
                                             sandbox->dir(), counted(removal.left, "other file", "other files")));
  return ExitStatus::done;
}

void print_servers(const SandboxStatus& status) {
  TableRows rows;
  for (const auto& server : status.servers) {
    rows.push_back({std::to_string(server.number), server.running ? "running" : "stopped",
                    server.running ? std::to_string(server.pid) : "", server.socket});
  }
  print_table({{"server", true}, {"state"}, {"pid", true}, {"socket"}}, std::move(rows));
}

void print_servers_as_json(const SandboxStatus& status) {
  for (const auto& server : status.servers) {
    print_json({{"server", server.number},
                {"running", server.running},
                {"pid", server.running ? Json(server.pid) : Json(nullptr)},
                {"socket", server.socket},
                {"log", server.log}});
  }
  print_summary({{"dir", status.dir}, {"cluster_file", status.cluster_file}, {"shards", status.shards}});
}

ExitStatus show_status(const SandboxArguments& options, const Globals& globals) {
  const SandboxStatus status = Sandbox::open(options.dir).status();
  if (globals.json()) {
    print_servers_as_json(status);
  } else {
    print_servers(status);
  }
  const bool all_run = std::all_of(status.servers.begin(), status.servers.end(),
                                   [](const SandboxServer& server) { return server.running; });
  return all_run ? ExitStatus::done : ExitStatus::failed;
}

ExitStatus run(const SandboxArguments& options, const Globals& globals) {
  if (options.action == "start") {
    return start(options, globals);
  }
  if (options.shards || options.servers) {
    throw Error(ErrorCode::usage, "--shards and --servers are for `sandbox start` only", {}, "leave them out");
  }
  if (options.action == "stop") {
    return stop(options, globals);
  }
  return options.action == "status" ? show_status(options, globals) : remove(options, globals);
}

}  // namespace

Command sandbox_command() {
  const auto options = std::make_shared<SandboxArguments>();
  Command command;
  command.name = "sandbox";
  command.summary = "run private servers on sockets, for trials and tests";
  command.parameters = {
      {.name = "ACTION",
       .help = "what to do",
       .target = &options->action,
       .choices = {"start", "stop", "status", "delete"},
       .required = true,
       .details =
           "`start` starts the servers that do not run, keeps the data, and prints the path of the cluster file. If it "
           "fails, or a signal stops it, it stops the servers that it has started. `stop` stops the servers and keeps "
           "the data. `status` shows the servers; its exit status is 3 unless all run. `delete` stops the servers and "
           "deletes the data and everything else that the sandbox created."},
      {.name = "--shards",
       .value = "N",
       .help = "number of shards of a new sandbox; default 2",
       .target = &options->shards,
       .range = {.least = 1, .most = max_shards}},
      {.name = "--servers",
       .value = "N",
       .help = fmt::format("number of servers that the shards share, at most {}; default one for each shard",
                           most_sandbox_servers),
       .target = &options->servers,
       .range = {.least = 1, .most = most_sandbox_servers}},
      {.name = "--dir",
       .value = "DIR",
       .help = "the directory of the sandbox; default `.sandbox`",
       .target = &options->dir,
       .details = "Its path must be short, because sockets have short names."},
  };
  command.details = {
      "The servers listen only on sockets in a directory. They outlive the command.",
      "If there is no sandbox, `stop` and `delete` do nothing and have exit status 0; `status` has exit status 2.",
      "The environment variable `LOOSELEAF_TEST_SERVER` names another server to start: a program, or a folder that "
      "holds it in `bin/`."};
  command.examples = {
      {"Start a sandbox and use it", "export LOOSELEAF_CLUSTER=$(looseleaf sandbox start --shards 2)\nlooseleaf init"},
      {"Show its servers", "looseleaf sandbox status"},
      {"Delete it", "looseleaf sandbox delete"}};
  command.see_also = {"init"};
  command.opens_store = false;
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli

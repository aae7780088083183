// looseleaf verify: prove that index tables and entities agree, or list where they do not.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/job.hpp"
#include "cli/commands/throttle_options.hpp"
#include "cli/commands/verify_against.hpp"
#include "cli/files/definitions.hpp"
#include "cli/files/replace_file.hpp"
#include "cli/report/junit.hpp"
#include "cli/report/verify_output.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"

namespace looseleaf::cli {
namespace {

struct VerifyArguments {
  std::vector<std::string> tables;
  bool repair = false;
  bool all = false;
  std::uint64_t grace = VerifyOptions{}.grace_seconds;
  std::string report;
  std::string definitions;
  bool definitions_only = false;
  std::optional<std::string> against;
  Throttle throttle;
};

// The file that `--report junit=FILE` names; empty without that option.
std::string junit_file(const VerifyArguments& options) {
  constexpr std::string_view prefix = "junit=";
  if (options.report.empty()) {
    return {};
  }
  if (!options.report.starts_with(prefix) || options.report.size() == prefix.size()) {
    throw Error(ErrorCode::usage, "unknown kind of report", {{"option", "--report"}, {"value", options.report}},
                "write junit=FILE");
  }
  return options.report.substr(prefix.size());
}

VerifyReport verify(Datastore& store, const VerifyOptions& how, const Globals& globals) {
  return run_job(globals, [&](JobControl& control) { return store.verify(how, control); });
}

void check_against(const VerifyArguments& options) {
  const auto refuse = [](bool given, const std::string& what) {
    if (given) {
      throw Error(ErrorCode::usage, what + " and --against cannot be combined", {},
                  "--against compares all entities with those of another store, and no indexes; run `looseleaf verify` "
                  "without it, too");
    }
  };
  refuse(!options.tables.empty(), "names of indexes");
  refuse(options.repair, "--repair");
  refuse(!options.definitions.empty(), "--definitions");
  refuse(options.definitions_only, "--definitions-only");
}

void check_combination(const VerifyArguments& options) {
  if (!options.definitions_only) {
    return;
  }
  if (options.definitions.empty()) {
    throw Error(ErrorCode::usage, "--definitions-only needs --definitions", {}, "name the folder of the definitions");
  }
  if (options.repair) {
    throw Error(ErrorCode::usage, "--definitions-only and --repair cannot be combined", {},
                "run `looseleaf apply` to create what is missing");
  }
}

ExitStatus run(const VerifyArguments& options, const Globals& globals) {
  if (options.against) {
    check_against(options);
  }
  check_combination(options);
  const std::string junit = junit_file(options);
  if (!junit.empty()) {
    check_replaceable(junit);
  }
  if (options.against) {
    return verify_against({*options.against, options.all, options.grace, junit, options.throttle}, globals);
  }
  DefinitionFolder folder = or_junit(junit, VerifyOutput::suite, [&] {
    return options.definitions.empty() ? DefinitionFolder() : load_definition_folder(options.definitions);
  });
  VerifyOutput output(globals, {options.all, options.repair, options.definitions_only, std::move(folder.files)});
  VerifyOptions how;
  how.tables = options.tables;
  how.repair = options.repair;
  how.throttle = options.throttle;
  how.grace_seconds = static_cast<std::uint32_t>(options.grace);
  if (!options.definitions.empty()) {
    how.definitions = std::move(folder.definitions);
  }
  how.definitions_only = options.definitions_only;
  how.samples = 0;
  how.on_finding = [&](const Finding& finding) { output.add(finding); };
  how.on_repaired = [&](const Finding& finding) { output.add_repaired(finding); };
  how.on_wait = [](std::chrono::seconds time) {
    print_note(fmt::format("waiting {} s for changes in flight to settle (--grace)", time.count()));
  };
  Datastore store = or_junit(junit, VerifyOutput::suite, [&] { return open_store(globals); });
  VerifyReport report;
  const auto junit_of = [&](const Error* error) { return output.junit(report, store.shard_count(), error); };
  try {
    report = verify(store, how, globals);
  } catch (const Error& error) {
    write_junit(junit, junit_of, &error);
    throw;
  }
  output.finish(report, store.shard_count());
  write_junit(junit, junit_of, nullptr);
  return report.found == 0 ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

Command verify_command() {
  const auto options = std::make_shared<VerifyArguments>();
  Command command;
  command.name = "verify";
  command.summary = "prove that indexes and entities agree, or list where they do not";
  command.parameters = {
      {"TABLE", "", "the indexes to verify; without one, all", &options->tables},
      {.name = "--repair",
       .help = "repair what is found, and verify again",
       .target = &options->repair,
       .details =
           "What was repaired is listed, too. The findings are then those that could not be repaired, and the rows "
           "are counted after the repair."},
      {"--all", "", "list every finding and repair, not only 20 of a kind in an index on a shard", &options->all},
      {.name = "--grace",
       .value = "S",
       .help = "seconds that a superfluous row may exist beside a change before it is a finding; default 10",
       .target = &options->grace,
       .range = {.most = longest_seconds},
       .details = "With --against: the seconds for which a difference must persist or, if the other store is a copy "
                  "that follows this one, the most seconds to wait until the copy has reached it."},
      {.name = "--report",
       .value = "junit=FILE",
       .help = "also write a report in JUnit's XML, which CI systems show",
       .target = &options->report,
       .details =
           "It has a test case for each index and shard, and for the entities of each shard. If the verification could "
           "not be completed, a further test case gives the reason."},
      {.name = "--definitions",
       .value = "DIR",
       .help = "also check that exactly the definitions in this folder are active",
       .target = &options->definitions,
       .details = "Definitions are files `*.json`, but not `*.schema.json`. If indexes are named, only those are "
                  "checked."},
      {.name = "--definitions-only",
       .help = "check only that, and that the tables are as they should be; read no entities",
       .target = &options->definitions_only,
       .details = "This takes moments. An index that is still building causes a warning only."},
      {.name = "--against",
       .value = "FILE",
       .help = "instead check that another store, of this cluster file, holds the same entities",
       .target = &options->against,
       .details = "Its user and its option file are those that this file names. It may have another number of shards, "
                  "other servers and the other vendor, and both may be written meanwhile. Nothing is changed or "
                  "locked. The throttles apply to each of the stores."},
  };
  add_throttle_parameters(command, options->throttle);
  command.details = {
      "The command compares every index with all entities, in both directions, on a live store. It reads every body "
      "once and lets the servers digest the index rows; it reads only the rows that differ.",
      "The exit status is 0 if everything agrees, or agrees after a repair, 1 if not, and 3 if not everything could be "
      "checked. All shards must be up: if one is down, nothing is verified, and the command fails within 5 s.",
      "With `--against` it compares the texts of all entities with those of another store, byte for byte: `missing` "
      "there, `extra` there, or `different`. An entity whose writes never pause, or that a copy has not reached, is "
      "`unsettled`. The status is then 1, as with a difference."};
  command.examples = {
      {"Verify everything", "looseleaf verify"},
      {"Repair one index", "looseleaf verify index_user_id --repair"},
      {"Write all findings to a file", "looseleaf verify --output json > findings.jsonl"},
      {"Check only the definitions, before a deployment", "looseleaf verify --definitions schemas --definitions-only"},
      {"Check that a copy holds the same entities", "looseleaf verify --against copy.json"},
      {"Verify in a CI job", "looseleaf verify --definitions schemas --report junit=verify.xml"}};
  command.see_also = {"clean", "backfill"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli

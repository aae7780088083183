// Compares the store with another one, for verify --against.
#include "cli/commands/verify_against.hpp"

#include <fmt/format.h>

#include <chrono>

#include "cli/commands/connect.hpp"
#include "cli/commands/job.hpp"
#include "cli/report/compare_output.hpp"
#include "cli/report/junit.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"

namespace looseleaf::cli {

ExitStatus verify_against(const AgainstOptions& options, const Globals& globals) {
  CompareOutput output(globals, options.other, options.all);
  CompareOptions how;
  how.grace_seconds = static_cast<std::uint32_t>(options.grace);
  how.throttle = options.throttle;
  how.on_difference = [&](const Difference& difference) { output.add(difference); };
  how.on_wait = [](std::chrono::seconds time) {
    print_note(fmt::format("waiting at most {} s for changes in flight to settle (--grace)", time.count()));
  };
  const auto open = [&](const auto& work) { return or_junit(options.junit, CompareOutput::suite, work); };
  const Datastore store = open([&] { return open_store(globals); });
  const Datastore other = open([&] { return open_other_store(options.other, globals); });
  const auto junit_of = [&](const Error* error) { return output.junit(store.shard_count(), error); };
  CompareReport report;
  try {
    report = run_job(globals, [&](JobControl& control) { return store.compare(other, how, control); });
  } catch (const Error& error) {
    write_junit(options.junit, junit_of, &error);
    throw;
  }
  output.finish(report);
  write_junit(options.junit, junit_of, nullptr);
  return report.same() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace looseleaf::cli

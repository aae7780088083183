// Runs a long job, shows its progress, and drains it on the first signal.
#pragma once

#include <looseleaf/jobs.hpp>
#include <utility>

#include "cli/terminal/progress.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {

// Calls `job` with the JobControl and returns its result. With `events` and --output json, progress is also printed to
// standard output.
template <typename Job>
auto run_job(const Globals& globals, Job&& job, bool events = false) {
  ProgressDisplay display(globals);
  ProgressEvents to_output;
  JobControl control;
  control.on_progress = [&](const Progress& progress) {
    display.update(progress);
    if (events && globals.json()) {
      to_output.update(progress);
    }
  };
  const Drain drain(&control);
  return std::forward<Job>(job)(control);
}

}  // namespace looseleaf::cli

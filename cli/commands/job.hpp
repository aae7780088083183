// Runs a long job with its progress shown, drained by the first signal.
#pragma once

#include <looseleaf/jobs.hpp>
#include <utility>

#include "cli/terminal/progress.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {

// `job` is called with the JobControl; its result is returned. With `events`, and JSON asked for, progress is part of
// the output.
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

// Runs a long job with its progress shown, drained by the first signal.
#pragma once

#include <looseleaf/jobs.hpp>
#include <utility>

#include "cli/progress.hpp"
#include "cli/signals.hpp"

namespace looseleaf::cli {

// `job` is called with the JobControl; its result is returned.
template <typename Job>
auto run_job(const Globals& globals, Job&& job) {
  ProgressDisplay progress(globals);
  JobControl control;
  control.on_progress = [&progress](const Progress& step) { progress.update(step); };
  const Drain drain(&control);
  return std::forward<Job>(job)(control);
}

}  // namespace looseleaf::cli

// SIGINT and SIGTERM: the first asks a long command to drain, the second stops at once.
#pragma once

#include <looseleaf/jobs.hpp>

namespace looseleaf::cli {

// Installs the handlers and ignores SIGPIPE. Without a Drain object the first signal ends the process.
void install_signal_handlers();

// The signal that asked this process to stop, or 0.
[[nodiscard]] int stop_signal();
[[nodiscard]] inline bool stop_requested() {
  return stop_signal() != 0;
}

// Becomes readable when a signal asks to stop, so that code that polls for input can poll for the signal too.
[[nodiscard]] int stop_descriptor();

// While a Drain exists, the first signal only sets stop_requested() and the job's `stop`. At most one may exist.
// Without a job, a terminal is told after a second what the command waits for.
class Drain {
 public:
  explicit Drain(JobControl* control = nullptr);
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain();
};

// While an OpenLine exists, a signal that ends the process first ends the line on this terminal, which has a prompt.
class OpenLine {
 public:
  explicit OpenLine(int fd);
  OpenLine(const OpenLine&) = delete;
  OpenLine& operator=(const OpenLine&) = delete;
  ~OpenLine();
};

// Waits until `fd` can be read. False if a signal asks to stop first.
[[nodiscard]] bool wait_readable(int fd);

}  // namespace looseleaf::cli

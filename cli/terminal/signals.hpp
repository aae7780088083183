// SIGINT and SIGTERM: the first asks a long command to drain, the second stops at once.
#pragma once

#include <looseleaf/jobs.hpp>

namespace looseleaf::cli {

// Installs the handlers, ignores SIGPIPE. A command that has no Drain alive is stopped by the first signal.
void install_signal_handlers();

// The signal that asked this process to stop; 0 if none did.
[[nodiscard]] int stop_signal();
[[nodiscard]] inline bool stop_requested() {
  return stop_signal() != 0;
}

// Becomes readable when a signal asks to stop, so that whoever waits for input can wait for that too.
[[nodiscard]] int stop_descriptor();

// While one is alive the first signal only sets stop_requested(), and the job's `stop`. One at a time.
class Drain {
 public:
  explicit Drain(JobControl* control = nullptr);
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain();
};

// While one is alive a signal that stops the process first ends the line on this terminal, on which a question stands.
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

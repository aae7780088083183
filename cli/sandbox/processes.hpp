// Other programs: run to their end, run beside us, or started as daemons that outlive us.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/files/descriptor.hpp"

namespace looseleaf::cli {

struct ProcessResult {
  int status = 0;  // the exit status, or 128 + the signal that ended it
  std::string out, err;

  bool operator==(const ProcessResult&) const = default;
};

// A child process. Its standard streams are files in memory, so neither side ever waits for the other.
class Process {
 public:
  // Starts command[0] (looked up in PATH) with `input` on its standard input. Throws Error(io).
  [[nodiscard]] static Process start(const std::vector<std::string>& command, std::string_view input = {});
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  // Kills and reaps a process that was not waited for.
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The output so far.
  [[nodiscard]] std::string out() const;
  [[nodiscard]] std::string err() const;
  // Waits for the end of the process. Call it once.
  ProcessResult wait();

 private:
  Process(pid_t pid, Descriptor out, Descriptor err) : pid_(pid), out_(std::move(out)), err_(std::move(err)) {}

  pid_t pid_;  // 0 once it was waited for
  Descriptor out_, err_;
};

// Runs a command to its end. Throws Error(io) if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, std::string_view input = {});

// Starts a program (an absolute path) in a session of its own, not as our child, with its output appended to `log`
// and no other open file of ours. Returns its pid once the program runs. Throws Error(io).
[[nodiscard]] pid_t start_daemon(const std::vector<std::string>& command, const std::string& log);

// The end of a program's log or output, for error messages.
[[nodiscard]] std::vector<std::string> last_lines(std::istream& text, std::size_t count = 12);

// True if process `pid` runs with exactly this argument among its own.
[[nodiscard]] bool runs_with_argument(pid_t pid, std::string_view argument);
// True while a process that has ended or was killed still holds its files.
[[nodiscard]] bool is_ending(pid_t pid);
// True once no thread of the process is left, so that its files are closed and its locks are free.
[[nodiscard]] bool is_gone(pid_t pid);

}  // namespace looseleaf::cli

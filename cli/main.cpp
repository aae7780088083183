// The looseleaf program.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string_view>

#include "cli/app.hpp"
#include "cli/commands/commands.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"

namespace {

// If the caller closed descriptor 0, 1 or 2, a server connection must not get its number. Reads from and writes to
// these substitutes fail, so the program notices a closed standard output.
void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0) {
      ::_exit(static_cast<int>(looseleaf::cli::ExitStatus::failed));
    }
  }
}

// A core file would hold passwords and entities. A limit of one byte, unlike zero, also stops the kernel from starting
// a program that collects cores. To get a core, raise the limit of the running process (prlimit --core).
void forbid_core_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1);
    ::setrlimit(RLIMIT_CORE, &limit);
  }
}

// Needs no memory: it reports failures that run_app() could not report. In JSON, `reason` must need no escapes.
void report_plainly(std::string_view reason) {
  const bool json = looseleaf::cli::messages_are_json();
  const std::string_view before = json ? R"({"event":"error","what":")" : "looseleaf: error: ";
  const std::string_view after = json ? "\",\"context\":{},\"hint\":\"\",\"exit_status\":3}\n" : "\n";
  for (const std::string_view part : {before, reason, after}) {
    if (::write(STDERR_FILENO, part.data(), part.size()) < 0) {
      return;
    }
  }
}

// Replaces the abort() of std::terminate(): for a thread, or code of a library that must not throw, in which memory ran
// out. Nothing that is not acknowledged yet is acknowledged any more.
[[noreturn]] void end_with_message() {
  report_plainly("the process cannot go on, most likely because it ran out of memory");
  ::_exit(static_cast<int>(looseleaf::cli::ExitStatus::failed));
}

}  // namespace

int main(int argc, char** argv) {
  using looseleaf::cli::ExitStatus;
  occupy_standard_descriptors();
  forbid_core_files();
  std::set_terminate(end_with_message);
  try {
    looseleaf::cli::install_signal_handlers();
    return static_cast<int>(looseleaf::cli::run_app(looseleaf::cli::all_commands(), argc, argv));
  } catch (const std::exception& error) {
    report_plainly(looseleaf::cli::messages_are_json() ? "unexpected failure" : error.what());
    return static_cast<int>(ExitStatus::failed);
  }
}

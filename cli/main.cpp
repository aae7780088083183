// The looseleaf program.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string_view>

#include "cli/app.hpp"
#include "cli/commands/commands.hpp"
#include "cli/terminal/signals.hpp"

namespace {

// A descriptor 0, 1 or 2 that the caller closed must not become that of a server connection. Data from or to the
// stand-ins fails, so a closed standard output is noticed.
void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0) {
      ::_exit(static_cast<int>(looseleaf::cli::ExitStatus::failed));
    }
  }
}

// A core file would hold passwords and entities. One byte: unlike none, it also keeps the kernel from starting a
// program that collects cores. Whoever needs one raises the limit of the running process (prlimit --core).
void forbid_core_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1);
    ::setrlimit(RLIMIT_CORE, &limit);
  }
}

// Without memory: for what run_app() could not report, or not begin.
void report_plainly(std::string_view reason) {
  for (const std::string_view part : {std::string_view("looseleaf: error: "), reason, std::string_view("\n")}) {
    if (::write(STDERR_FILENO, part.data(), part.size()) < 0) {
      return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using looseleaf::cli::ExitStatus;
  occupy_standard_descriptors();
  forbid_core_files();
  try {
    looseleaf::cli::install_signal_handlers();
    return static_cast<int>(looseleaf::cli::run_app(looseleaf::cli::all_commands(), argc, argv));
  } catch (const std::exception& error) {
    report_plainly(error.what());
    return static_cast<int>(ExitStatus::failed);
  }
}

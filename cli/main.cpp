// The looseleaf program.
#include <fcntl.h>
#include <unistd.h>

#include "cli/app.hpp"
#include "cli/commands.hpp"
#include "cli/signals.hpp"

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

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  looseleaf::cli::install_signal_handlers();
  return static_cast<int>(looseleaf::cli::run_app(looseleaf::cli::all_commands(), argc, argv));
}

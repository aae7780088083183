// Starts the command in a process group of its own, so that Ctrl-C lets it finish, and a timeout ends all of it.
#include "cli/commands/consumer.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <looseleaf/error.hpp>

#include "cli/files/descriptor.hpp"
#include "cli/files/memory_file.hpp"

namespace looseleaf::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto time_to_end = std::chrono::seconds(5);
constexpr const char* hint = "the batch is repeated until the command exits with status 0";

pid_t start(std::vector<std::string> command, int input) {
  std::vector<char*> arguments;
  for (std::string& argument : command) {
    arguments.push_back(argument.data());
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  sigset_t ignored_by_us;
  ::sigemptyset(&ignored_by_us);
  ::sigaddset(&ignored_by_us, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &ignored_by_us);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    throw Error(ErrorCode::io, "the command cannot be started",
                {{"command", command.front()}, {"reason", std::strerror(error)}}, hint);
  }
  return pid;
}

// Returns true if the process has ended within the time.
bool has_ended(const Descriptor& process, Clock::duration time) {
  const auto until = Clock::now() + time;
  pollfd waiting{process.get(), POLLIN, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0 || (ready == 0 && left <= 0)) {
      return ready > 0;
    }
    if (ready < 0 && errno != EINTR) {
      return true;  // waitpid() waits then
    }
  }
}

}  // namespace

void Consumer::run(std::string_view input) const {
  const Descriptor file = memory_file("batch", input);
  const pid_t pid = start(command_, file.get());
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const bool in_time = !timeout_ || has_ended(process, *timeout_);  // waitpid() waits without one
  if (!in_time) {
    ::kill(-pid, SIGTERM);
    static_cast<void>(has_ended(process, time_to_end));
    ::kill(-pid, SIGKILL);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    throw Error(ErrorCode::io, "the command took too long and was killed",
                {{"seconds", std::to_string(timeout_->count())}}, hint);
  }
  if (WIFSIGNALED(status)) {
    throw Error(ErrorCode::io, "the command was ended by a signal", {{"signal", std::to_string(WTERMSIG(status))}},
                hint);
  }
  if (WEXITSTATUS(status) != 0) {
    throw Error(ErrorCode::io, "the command failed", {{"status", std::to_string(WEXITSTATUS(status))}}, hint);
  }
}

}  // namespace looseleaf::cli

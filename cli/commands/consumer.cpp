// Starts the command in a process group of its own, so that Ctrl-C lets it finish, and a timeout ends all of it.
#include "cli/commands/consumer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <thread>

#include "cli/files/descriptor.hpp"
#include "cli/files/memory_file.hpp"

namespace looseleaf::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto time_to_end = std::chrono::seconds(5);
constexpr auto long_time = std::chrono::hours(24 * 365);

// Starts a command in a process group of its own. Without `output` it has ours. Returns an errno, or 0.
int start(std::vector<std::string> command, int input, std::optional<int> output, pid_t& pid) {
  std::vector<char*> arguments;
  for (std::string& argument : command) {
    arguments.push_back(argument.data());
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  if (output) {
    ::posix_spawn_file_actions_adddup2(&files, *output, STDOUT_FILENO);
  }
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  sigset_t ignored_by_us;
  ::sigemptyset(&ignored_by_us);
  ::sigaddset(&ignored_by_us, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &ignored_by_us);
  const int error = ::posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

// Returns true if one of these has something to read, or is a process that has ended, in time.
bool becomes_readable(std::initializer_list<const Descriptor*> files, Clock::time_point until) {
  std::vector<pollfd> waiting;
  for (const Descriptor* file : files) {
    waiting.push_back({file->get(), POLLIN, 0});
  }
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int ready =
        ::poll(waiting.data(), waiting.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0 || (ready == 0 && left <= 0)) {
      return ready > 0;
    }
    if (ready < 0 && errno != EINTR) {
      return true;  // waitpid() or read() waits then
    }
  }
}

// A running command.
class Child {
 public:
  Child(pid_t pid, std::optional<std::chrono::seconds> timeout)
      : pid_(pid),
        process_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
        until_(Clock::now() + (timeout ? Clock::duration(*timeout) : Clock::duration(long_time))) {}

  // Appends what the command prints, until it has closed its output or has ended. A process that it leaves behind may
  // keep the output open. Returns false if that is too much or too late.
  [[nodiscard]] bool read_all(const Descriptor& pipe, std::string& output, std::size_t most) const {
    std::array<char, 65536> buffer{};
    while (true) {
      const bool is_ready =
          becomes_readable({&pipe, &process_}, process_.get() >= 0 ? until_ : std::min(until_, soon()));
      if (ends_before(Clock::now()) && !becomes_readable({&pipe}, Clock::now())) {
        return true;
      }
      if (!is_ready) {
        if (Clock::now() >= until_) {
          return false;
        }
        continue;
      }
      const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
      if (got == 0) {
        return true;
      }
      output.append(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
      if (output.size() > most) {
        return false;
      }
    }
  }

  // Waits for the end. Returns true if it came in time.
  [[nodiscard]] bool ends_in_time() const { return ends_before(until_); }

  void end() const {
    ::kill(-pid_, SIGTERM);
    static_cast<void>(ends_before(Clock::now() + time_to_end));
    ::kill(-pid_, SIGKILL);
  }

  [[nodiscard]] int status() const {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

 private:
  // The kernel or a container may not allow pidfd_open().
  [[nodiscard]] bool ends_before(Clock::time_point time) const {
    if (process_.get() >= 0) {
      return becomes_readable({&process_}, time);
    }
    siginfo_t ended{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0) {
      if (Clock::now() >= time) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  [[nodiscard]] static Clock::time_point soon() { return Clock::now() + std::chrono::milliseconds(50); }

  const pid_t pid_;
  const Descriptor process_;
  const Clock::time_point until_;
};

}  // namespace

Error Consumer::failure(const std::string& what, Error::Context context) const {
  return {ErrorCode::io, what, std::move(context), hint_};
}

// The status of a command that has ended by itself.
void Consumer::check(int status) const {
  if (WIFSIGNALED(status)) {
    throw failure("the command was ended by a signal", {{"signal", std::to_string(WTERMSIG(status))}});
  }
  if (WEXITSTATUS(status) != 0) {
    throw failure("the command failed", {{"status", std::to_string(WEXITSTATUS(status))}});
  }
}

void Consumer::run(std::string_view input) const {
  static_cast<void>(run(input, std::nullopt));
}

std::string Consumer::answer(std::string_view input, std::size_t most) const {
  return run(input, most);
}

// The input is a file in memory, so neither side waits for the other while the output is read.
std::string Consumer::run(std::string_view input, std::optional<std::size_t> most_output) const {
  const Descriptor file = memory_file("input", input);
  std::array<int, 2> ends{-1, -1};
  if (most_output && ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw failure("cannot create a pipe", {{"reason", std::strerror(errno)}});
  }
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  pid_t pid = 0;
  const int error = start(command_, file.get(), most_output ? std::optional(ends[1]) : std::nullopt, pid);
  if (error != 0) {
    throw failure("the command cannot be started", {{"command", command_.front()}, {"reason", std::strerror(error)}});
  }
  writing.close();
  const Child child(pid, timeout_);
  std::string output;
  const bool done = (!most_output || child.read_all(reading, output, *most_output)) && child.ends_in_time();
  if (!done) {
    child.end();
  }
  const int status = child.status();
  if (most_output && output.size() > *most_output) {
    throw failure("the command prints too much", {{"most", fmt::format("{} bytes", *most_output)}});
  }
  if (!done) {
    throw failure("the command took too long and was killed", {{"seconds", std::to_string(timeout_->count())}});
  }
  check(status);
  return output;
}

}  // namespace looseleaf::cli

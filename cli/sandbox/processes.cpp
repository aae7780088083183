// Other programs: spawning, capturing, daemons, and what /proc says about a pid.
#include "cli/sandbox/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <looseleaf/error.hpp>
#include <utility>

#include "cli/files/memory_file.hpp"

namespace looseleaf::cli {
namespace {

[[noreturn]] void fail(const std::string& program, int error) {
  throw Error(ErrorCode::io, "a program cannot be started", {{"program", program}, {"reason", std::strerror(error)}},
              "install the program, or give its path");
}

std::vector<char*> pointers(std::vector<std::string>& command) {
  std::vector<char*> result;
  for (std::string& argument : command) {
    result.push_back(argument.data());
  }
  result.push_back(nullptr);
  return result;
}

// Reads without moving the file position, because the child shares it.
std::string content(const Descriptor& file) {
  std::string bytes;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(bytes.size()));
    if (got <= 0) {
      return bytes;
    }
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

pid_t spawn(const std::vector<std::string>& command, int in, int out, int err) {
  std::vector<std::string> arguments = command;
  const std::vector<char*> argv = pointers(arguments);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    fail(command.front(), error);
  }
  return pid;
}

struct DaemonFiles {
  int null, log, report;
};

// Only async-signal-safe calls from here on: the process we were forked from may have other threads.
[[noreturn]] void become_daemon(char* const* argv, const DaemonFiles& files) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGHUP, SIGINT, SIGPIPE, SIGTERM}) {
    ::signal(number, SIG_DFL);
  }
  ::dup2(files.null, STDIN_FILENO);
  ::dup2(files.log, STDOUT_FILENO);
  ::dup2(files.log, STDERR_FILENO);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  const pid_t pid = ::getpid();
  if (::write(files.report, &pid, sizeof pid) == static_cast<ssize_t>(sizeof pid)) {
    ::execv(argv[0], argv);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(files.report, &error, sizeof error);
  ::_exit(127);
}

[[noreturn]] void fork_daemon(char* const* argv, const DaemonFiles& files) {
  ::setsid();
  if (::fork() == 0) {
    become_daemon(argv, files);
  }
  ::_exit(0);
}

// The pid that the daemon reported, after its end of the pipe was closed by a successful exec.
pid_t read_report(int pipe, const std::string& program) {
  std::array<int, 2> report{};
  std::size_t got = 0;
  while (got < sizeof report) {
    const ssize_t bytes = ::read(pipe, reinterpret_cast<char*>(report.data()) + got, sizeof report - got);
    if (bytes == 0) {
      break;
    }
    if (bytes < 0 && errno != EINTR) {
      fail(program, errno);
    }
    got += bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
  }
  if (got != sizeof(int)) {
    fail(program, got == sizeof report ? report[1] : EAGAIN);
  }
  return report[0];
}

}  // namespace

Process Process::start(const std::vector<std::string>& command, std::string_view input) {
  const Descriptor in = memory_file("stdin", input);
  Descriptor out = memory_file("stdout");
  Descriptor err = memory_file("stderr");
  const pid_t pid = spawn(command, in.get(), out.get(), err.get());
  return {pid, std::move(out), std::move(err)};
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), out_(std::move(other.out_)), err_(std::move(other.err_)) {}

Process::~Process() {
  if (pid_ != 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void Process::signal(int number) const {
  if (pid_ != 0) {
    ::kill(pid_, number);
  }
}

std::string Process::out() const {
  return content(out_);
}

std::string Process::err() const {
  return content(err_);
}

ProcessResult Process::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), out(), err()};
}

ProcessResult run_process(const std::vector<std::string>& command, std::string_view input) {
  return Process::start(command, input).wait();
}

pid_t start_daemon(const std::vector<std::string>& command, const std::string& log) {
  std::vector<std::string> arguments = command;
  const std::vector<char*> argv = pointers(arguments);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    fail(command.front(), errno);
  }
  const Descriptor report(pipe[0]);
  Descriptor reporting(pipe[1]);
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const pid_t child = ::fork();
  if (child == 0) {
    fork_daemon(argv.data(), {null.get(), output.get(), reporting.get()});
  }
  if (child < 0) {
    fail(command.front(), errno);
  }
  ::waitpid(child, nullptr, 0);
  reporting.close();
  return read_report(report.get(), command.front());
}

std::vector<std::string> last_lines(std::istream& text, std::size_t count) {
  std::deque<std::string> last;
  for (std::string line; std::getline(text, line);) {
    last.push_back(std::move(line));
    if (last.size() > count) {
      last.pop_front();
    }
  }
  return {last.begin(), last.end()};
}

bool runs_with_argument(pid_t pid, std::string_view argument) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) {
    if (word == argument) {
      return true;
    }
  }
  return false;
}

bool is_ending(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  return file.peek() == std::ifstream::traits_type::eof() && !is_gone(pid);
}

bool is_gone(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  std::ifstream file(folder + "/stat");
  std::string stat;
  std::getline(file, stat, '\0');  // of a process that ends now, reading fails where opening did not
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) {
    return true;
  }
  if (stat[name_end + 2] != 'Z') {
    return false;
  }
  // A process whose first thread has ended is shown as a zombie although other threads still run.
  std::error_code error;
  const std::filesystem::directory_iterator threads(folder + "/task", error);
  return error || std::distance(begin(threads), end(threads)) <= 1;
}

}  // namespace looseleaf::cli

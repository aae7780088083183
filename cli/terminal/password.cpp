// Password prompt on the controlling terminal.
#include "cli/terminal/password.hpp"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <looseleaf/error.hpp>

#include "cli/terminal/signals.hpp"
#include "cli/terminal/terminal.hpp"

namespace looseleaf::cli {
namespace {

// A signal handler uses these to turn the echo on again. Valid while the descriptor is not -1.
std::atomic<int> silent_terminal{-1};
termios usual_settings{};

class Silence {
 public:
  explicit Silence(int fd) {
    if (::tcgetattr(fd, &usual_settings) == 0) {
      termios silent = usual_settings;
      silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
      silent_terminal = fd;
      ::tcsetattr(fd, TCSAFLUSH, &silent);
    }
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() { restore_terminal_echo(); }
};

void write_text(int fd, const std::string& text) {
  while (::write(fd, text.data(), text.size()) < 0 && errno == EINTR) {
  }
}

// Returns nothing if a signal comes first that the command answers later.
std::optional<std::string> read_line(int fd) {
  std::string line;
  char c = 0;
  while (wait_readable(fd)) {
    const ssize_t got = ::read(fd, &c, 1);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got != 1 || c == '\n') {
      return line;
    }
    line += c;
  }
  return std::nullopt;
}

Error stopped() {
  return {ErrorCode::interrupted, "stopped at the question for the password"};
}

}  // namespace

std::optional<std::string> ask_password(const std::string& prompt) {
  if (stop_requested()) {
    throw stopped();
  }
  const int fd = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    return std::nullopt;
  }
  std::optional<std::string> password;
  const bool in_foreground = ::tcgetpgrp(fd) == ::getpgrp();
  if (in_foreground && (::isatty(STDIN_FILENO) == 1 || ::isatty(STDERR_FILENO) == 1)) {
    const Silence silence(fd);  // before the prompt, because earlier input would be shown; it is discarded
    const OpenLine open_line(fd);
    write_text(fd, escape_controls(prompt));
    password = read_line(fd);
    write_text(fd, "\n");
  }
  ::close(fd);
  if (stop_requested()) {
    throw stopped();
  }
  return password && password->empty() ? std::nullopt : password;
}

void restore_terminal_echo() {
  const int fd = silent_terminal.exchange(-1);
  if (fd >= 0) {
    ::tcflush(fd, TCIFLUSH);  // what was typed meanwhile is not for the shell; output is not waited for
    ::tcsetattr(fd, TCSANOW, &usual_settings);
  }
}

}  // namespace looseleaf::cli

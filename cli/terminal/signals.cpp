// Signal handlers, and the pipe through which they wake a thread that waits for input.
#include "cli/terminal/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <looseleaf/error.hpp>
#include <string_view>

#include "cli/terminal/messages.hpp"
#include "cli/terminal/password.hpp"

namespace looseleaf::cli {
namespace {

std::atomic<int> received{0};
std::atomic<std::int64_t> received_at{0};  // see milliseconds_now()
std::atomic<bool> draining{false}, tells_of_waits{false};
std::atomic<std::atomic<bool>*> job_stop{nullptr};
std::array<int, 2> stop_pipe{-1, -1};
std::atomic<int> open_line{-1};  // the descriptor; -1: none

constexpr unsigned silent_seconds = 1;  // a command that needs longer to finish says so

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free &&
                  std::atomic<std::atomic<bool>*>::is_always_lock_free,
              "the handlers use these");

// Signal handlers run these functions, so they only make async-signal-safe calls.
void end_open_line() {
  const int fd = open_line;
  if (fd >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(fd, "\n", 1);  // a failure cannot be handled here
  }
}

std::int64_t milliseconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

// `timeout` of coreutils sends its signal to the program, and at once again to its process group. That is one request.
bool is_the_first_again(int signal) {
  constexpr std::int64_t at_once = 200;  // milliseconds
  return received == signal && milliseconds_now() - received_at < at_once;
}

void handle_stop(int signal) {
  if (is_the_first_again(signal)) {
    return;
  }
  const int saved_errno = errno;
  received_at = milliseconds_now();
  const bool second = received.exchange(signal) != 0;
  if (second || !draining) {
    restore_terminal_echo();
    end_open_line();
    ::_exit(128 + signal);
  }
  if (std::atomic<bool>* stop = job_stop) {
    *stop = true;
  }
  if (tells_of_waits) {
    ::alarm(silent_seconds);
  }
  const char byte = 0;
  if (::write(stop_pipe[1], &byte, 1) < 0) {
    ::_exit(128 + signal);
  }
  errno = saved_errno;
}

// If a line of progress is wiped out here, it is drawn again below.
void say_how_it_ends(int) {
  const int saved_errno = errno;
  constexpr std::string_view text =
      "\r\x1b[Klooseleaf: stopping as soon as what has begun is done; another Ctrl-C stops at once\r\n";
  if (draining) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }
  errno = saved_errno;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaddset(&action.sa_mask, SIGINT);
  ::sigaddset(&action.sa_mask, SIGTERM);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  if (::pipe2(stop_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw Error(ErrorCode::io, "cannot create a pipe");
  }
  ::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM}) {
    handle(signal, handle_stop);
  }
  handle(SIGALRM, say_how_it_ends);  // not ignored: commands that are started would ignore it, too
}

int stop_signal() {
  return received;
}

int stop_descriptor() {
  return stop_pipe[0];
}

Drain::Drain(JobControl* control) {
  job_stop = control != nullptr ? &control->stop : nullptr;
  tells_of_waits = redraws_messages() && !messages_are_json();
  draining = true;
}

Drain::~Drain() {
  job_stop = nullptr;
  draining = false;
}

OpenLine::OpenLine(int fd) {
  open_line = fd;
}

OpenLine::~OpenLine() {
  open_line = -1;
}

bool wait_readable(int fd) {
  std::array<pollfd, 2> waiting{{{fd, POLLIN, 0}, {stop_descriptor(), POLLIN, 0}}};
  while (!stop_requested()) {
    if (::poll(waiting.data(), waiting.size(), -1) >= 0) {
      return !stop_requested();
    }
    if (errno != EINTR) {
      return true;  // read(2) will report the error
    }
  }
  return false;
}

}  // namespace looseleaf::cli

// Writes whole lines to standard output.
#include "cli/terminal/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <looseleaf/error.hpp>
#include <utility>

#include "cli/terminal/messages.hpp"
#include "cli/terminal/terminal.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t buffer_limit = 64 * 1024;
constexpr auto longest_wait = std::chrono::milliseconds(5);

}  // namespace

int write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd, data.data(), data.size());
    if (written >= 0) {
      data.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool LineWriter::reader_is_gone() const {
  pollfd output{fd_, 0, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;  // of a pipe, and of a socket
}

LineWriter::LineWriter(int fd) : fd_(fd), terminal_(::isatty(fd) == 1) {}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(mutex_);
    write_out();
    closing_ = true;
  }
  changed_.notify_all();
  if (flusher_.joinable()) {
    flusher_.join();
  }
}

bool LineWriter::write_line(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (error_ != 0) {
    return false;
  }
  const std::string escaped = terminal_ ? escape_controls(line) : std::string();
  const std::string_view shown = terminal_ ? escaped : line;
  buffer_.reserve(buffer_.size() + shown.size() + 1);  // without memory, the whole line is left out, not a part of it
  buffer_ += shown;
  buffer_ += '\n';
  const bool idle = std::chrono::steady_clock::now() - written_at_ >= longest_wait;
  if (terminal_ || idle || buffer_.size() >= buffer_limit) {
    write_out();
    return error_ == 0;
  }
  if (!have_flusher()) {
    write_out();
    return error_ == 0;
  }
  if (!std::exchange(flusher_told_, true)) {
    changed_.notify_one();
  }
  return true;
}

void LineWriter::clear_screen() {
  const std::lock_guard lock(mutex_);
  buffer_ += "\x1b[H\x1b[J";
}

bool LineWriter::flush() {
  const std::lock_guard lock(mutex_);
  write_out();
  return error_ == 0;
}

int LineWriter::take_error() {
  const std::lock_guard lock(mutex_);
  const bool taken = std::exchange(error_taken_, error_ != 0);
  return taken ? 0 : error_;
}

bool LineWriter::have_flusher() {
  try {
    if (!flusher_.joinable()) {
      flusher_ = std::thread([this] { flush_when_idle(); });
    }
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void LineWriter::write_out() {
  if (error_ == 0 && !buffer_.empty()) {
    const auto write = [this] { error_ = write_all(fd_, buffer_); };
    terminal_ ? without_status_lines(write) : write();
  }
  buffer_.clear();
  flusher_told_ = false;
  written_at_ = std::chrono::steady_clock::now();
}

void LineWriter::flush_when_idle() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    changed_.wait(lock, [this] { return closing_ || !buffer_.empty(); });
    changed_.wait_for(lock, longest_wait, [this] { return closing_; });
    write_out();
  }
}

LineWriter& data_output() {
  static LineWriter writer(STDOUT_FILENO);
  return writer;
}

bool print_line(std::string_view line) {
  return data_output().write_line(line);
}

void print_lines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    print_line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void finish_output() {
  data_output().flush();
  const int error = data_output().take_error();
  if (error != 0 && error != EPIPE) {
    throw Error(ErrorCode::io, "cannot write to standard output", {{"reason", std::strerror(error)}},
                "make space, or write elsewhere, and run the command again: its output is incomplete");
  }
}

}  // namespace looseleaf::cli

// Writes data to standard output in whole lines and without much delay, and notices when it was closed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace looseleaf::cli {

// Writes all of it, also if the descriptor does not block. Returns 0, or the errno of the failure.
int write_all(int fd, std::string_view data);

// Buffers lines and writes them when the buffer is full, and otherwise within milliseconds.
// Thread-safe. After the first failed write everything is discarded.
class LineWriter {
 public:
  explicit LineWriter(int fd);
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  ~LineWriter();

  // Control characters are escaped if the descriptor is a terminal. False once a write has failed.
  bool write_line(std::string_view line);
  // Empties the screen of a terminal that understands escape sequences.
  void clear_screen();
  bool flush();
  // Returns true if the descriptor is a pipe or a socket that nobody reads any more. A write would say so, too.
  [[nodiscard]] bool reader_is_gone() const;

  // Returns the errno of the write that failed, and only once, so that it is reported once; or 0. EPIPE means that the
  // reader closed the pipe.
  [[nodiscard]] int take_error();

 private:
  // False if the thread cannot be started. Then every line must be written at once.
  bool have_flusher();
  void write_out();
  void flush_when_idle();

  const int fd_;
  const bool terminal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string buffer_;
  std::chrono::steady_clock::time_point written_at_{};
  int error_ = 0;
  bool error_taken_ = false;
  bool flusher_told_ = false;  // that there is something in the buffer: once, because waking it up takes long
  bool closing_ = false;
  std::thread flusher_;  // started when it is first needed
};

// The process's standard output.
[[nodiscard]] LineWriter& data_output();

// Prints one line of data. False once standard output was closed.
bool print_line(std::string_view line);

// Prints a text line by line, because a terminal would show a line break within a line escaped.
void print_lines(std::string_view text);

// Flushes. Throws Error(io) for a failure that was not reported yet, unless the reader closed the pipe.
void finish_output();

}  // namespace looseleaf::cli

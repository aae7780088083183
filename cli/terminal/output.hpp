// Standard output: data only, in whole lines, sent on soon; a reader that went away is noticed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace looseleaf::cli {

// Buffers lines and writes them when enough has come together, and otherwise within milliseconds.
// Thread-safe. After the first failed write everything is discarded.
class LineWriter {
 public:
  explicit LineWriter(int fd);
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  ~LineWriter();

  // Control characters are escaped if the descriptor is a terminal. False once a write has failed.
  bool write_line(std::string_view line);
  bool flush();

  // The errno of the write that failed; 0 if none did. EPIPE: the reader went away.
  [[nodiscard]] int error() const;
  // The same, but only once: whoever takes it reports it.
  [[nodiscard]] int take_error();

 private:
  // False if no thread can be had, which writing must then do without.
  bool have_flusher();
  void write_out();
  void flush_when_idle();

  const int fd_;
  const bool terminal_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string buffer_;
  std::chrono::steady_clock::time_point written_at_{};
  int error_ = 0;
  bool error_taken_ = false;
  bool closing_ = false;
  std::thread flusher_;  // started when it is first needed
};

// The process's standard output.
[[nodiscard]] LineWriter& data_output();

// One line of data. False once nobody can receive it any more.
bool print_line(std::string_view line);

// Flushes. Throws Error(io) if standard output failed, was not reported yet, and not just because its reader left.
void finish_output();

}  // namespace looseleaf::cli

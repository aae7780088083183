// How a process writes down what it does, so that its being killed at any moment loses nothing that began.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "tests/proof/history_checker.hpp"

namespace looseleaf::test {

// Nanoseconds of the monotonic clock, which all processes of a machine share.
[[nodiscard]] long long monotonic_now();

// The parts of a line that are separated by tabs.
[[nodiscard]] std::vector<std::string> tab_separated(std::string_view line);

// Appends a line at each start, before anything is done, and at each end. Thread-safe.
class Recorder {
 public:
  explicit Recorder(const std::string& file);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  // Returns the operation's number, for end(). Start, end, outcome and what is found count for nothing here.
  int start(const Operation& operation);
  void end(int number, Outcome outcome, const std::vector<std::string>& found = {});

 private:
  void write_line(std::string line) const;

  int file_;
  std::atomic<int> last_number_{0};
};

// What a file tells. An operation that did not end, or whose outcome is unknown, ends `never`; each has the name
// PROCESS/NUMBER.
[[nodiscard]] std::vector<Operation> read_records(const std::string& file, const std::string& process);

}  // namespace looseleaf::test

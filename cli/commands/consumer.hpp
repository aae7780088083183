// A command that gets data on its standard input: the command of a trigger for each batch, or of an update for each
// entity.
#pragma once

#include <chrono>
#include <cstddef>
#include <looseleaf/error.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace looseleaf::cli {

class Consumer {
 public:
  // `command` is a program, which is looked up in PATH, and its arguments. With a timeout, a command that runs longer
  // is ended, with all processes that it has started and that have stayed in its group. Errors have `hint`.
  Consumer(std::vector<std::string> command, std::optional<std::chrono::seconds> timeout, std::string hint)
      : command_(std::move(command)), timeout_(timeout), hint_(std::move(hint)) {}

  // Runs the command to its end, whether it reads all of the input or not. Its output is ours, and a signal to this
  // process's terminal does not reach it. Throws Error(io) unless it exits with status 0.
  void run(std::string_view input) const;
  // The same, but returns its output. Ends the command, and throws, if it prints more than `most` bytes.
  [[nodiscard]] std::string answer(std::string_view input, std::size_t most) const;

 private:
  [[nodiscard]] Error failure(const std::string& what, Error::Context context) const;
  void check(int status) const;
  [[nodiscard]] std::string run(std::string_view input, std::optional<std::size_t> most_output) const;

  const std::vector<std::string> command_;
  const std::optional<std::chrono::seconds> timeout_;
  const std::string hint_;
};

}  // namespace looseleaf::cli

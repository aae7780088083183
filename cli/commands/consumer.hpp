// The command of a trigger. It is started for each batch, with the batch on its standard input.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::cli {

class Consumer {
 public:
  // `command` is a program, which is looked up in PATH, and its arguments. With a timeout, a command that runs longer
  // is ended, with all processes that it has started and that have stayed in its group.
  Consumer(std::vector<std::string> command, std::optional<std::chrono::seconds> timeout)
      : command_(std::move(command)), timeout_(timeout) {}

  // Runs the command to its end, whether it reads all of the input or not. Its output is ours, and a signal to this
  // process's terminal does not reach it. Throws Error(io) unless it exits with status 0.
  void run(std::string_view input) const;

 private:
  const std::vector<std::string> command_;
  const std::optional<std::chrono::seconds> timeout_;
};

}  // namespace looseleaf::cli

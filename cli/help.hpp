// The help texts, made from the registered commands.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// A word that stands where a command does and opens no store.
struct BuiltIn {
  std::string name;
  std::string argument;  // empty if it takes none
  std::string summary;   // one line, without a full stop
};

// `help` and `version`, in the order in which the help lists them, after the commands.
[[nodiscard]] const std::vector<BuiltIn>& built_ins();

// The width of help on this descriptor: that of its terminal, but from 60 to 120; 80 if it is no terminal.
[[nodiscard]] std::size_t help_width(int fd);

// How to begin: from private servers to a query.
[[nodiscard]] const std::vector<Example>& first_steps();

// The lines of all help texts have at most `width` columns, except examples and usage, which are for copying.

// The short help that `-h` prints, examples first.
[[nodiscard]] std::string short_help(const Registry& registry, std::size_t width);
[[nodiscard]] std::string short_help(const Command& command, std::size_t width);

// All commands with a line each, the common options, and the first steps.
[[nodiscard]] std::string help_text(const Registry& registry, std::size_t width);
// One command: usage, arguments, options, examples.
[[nodiscard]] std::string help_text(const Command& command, std::size_t width);

}  // namespace looseleaf::cli

// The help texts, made from the registered commands.
#pragma once

#include <cstddef>
#include <string>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// How wide help on this descriptor is: as its terminal, within what is good to read; 80 if it is none.
[[nodiscard]] std::size_t help_width(int fd);

// All of these have lines of at most `width`, examples and usage aside, which can be copied as they are.

// In short, examples first: what `-h` prints.
[[nodiscard]] std::string short_help(const Registry& registry, std::size_t width);
[[nodiscard]] std::string short_help(const Command& command, std::size_t width);

// All commands with a line each, the common options, and how to begin.
[[nodiscard]] std::string help_text(const Registry& registry, std::size_t width);
// One command: usage, arguments, options, examples.
[[nodiscard]] std::string help_text(const Command& command, std::size_t width);

}  // namespace looseleaf::cli

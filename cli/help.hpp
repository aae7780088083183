// The help texts, made from the registered commands.
#pragma once

#include <string>

#include "cli/registry.hpp"

namespace looseleaf::cli {

// In short, examples first: what `-h` prints.
[[nodiscard]] std::string short_help(const Registry& registry);
[[nodiscard]] std::string short_help(const Command& command);

// All commands with a line each, the common options, and how to begin.
[[nodiscard]] std::string help_text(const Registry& registry);
// One command: usage, arguments, options, examples.
[[nodiscard]] std::string help_text(const Command& command);

}  // namespace looseleaf::cli

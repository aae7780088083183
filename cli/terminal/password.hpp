// Asking for a password on the terminal.
#pragma once

#include <optional>
#include <string>

namespace looseleaf::cli {

// Asks with the echo off. Absent if the process has no terminal of its own to ask on, or nothing was typed.
[[nodiscard]] std::optional<std::string> ask_password(const std::string& prompt);

// Undoes what a password prompt in progress changed. Safe in a signal handler.
void restore_terminal_echo();

}  // namespace looseleaf::cli

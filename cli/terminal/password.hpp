// Asking for a password on the terminal.
#pragma once

#include <optional>
#include <string>

namespace looseleaf::cli {

// Asks with the echo off. Absent if the process has no terminal to ask on, or if the answer is empty.
[[nodiscard]] std::optional<std::string> ask_password(const std::string& prompt);

// Turns the echo on again if a password prompt is active. Safe in a signal handler.
void restore_terminal_echo();

}  // namespace looseleaf::cli

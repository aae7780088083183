// The abilities and sizes of terminals, and text that is safe and fits there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace looseleaf::cli {

// True if the descriptor is a terminal that understands escape sequences: the environment has a TERM that is not
// "dumb".
[[nodiscard]] bool understands_escapes(int fd);

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// The current size; 80 by 24 if the descriptor is not a terminal or its size is unknown.
[[nodiscard]] TerminalSize terminal_size(int fd);

// Makes characters visible that could control the terminal: control characters (C0, DEL, C1), line and paragraph
// separators, and the marks and overrides of writing direction become \uXXXX, which means the same inside a JSON
// string. A byte that is not UTF-8 becomes \xXX.
[[nodiscard]] std::string escape_controls(std::string_view text);

// The number of terminal columns of a text that needs no escapes.
[[nodiscard]] std::size_t width_of(std::string_view text);

// The longest beginning of the text that fits that many columns.
[[nodiscard]] std::string_view beginning_of_width(std::string_view text, std::size_t columns);

}  // namespace looseleaf::cli

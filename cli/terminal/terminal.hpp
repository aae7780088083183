// Terminals: what they understand, how large they are, and text that is safe and fits there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace looseleaf::cli {

// True if the descriptor is a terminal that understands escape sequences: the environment's TERM says which it is, and
// that is not "dumb".
[[nodiscard]] bool understands_escapes(int fd);

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// The size just now; 80 by 24 if the descriptor is no terminal, or one that does not say.
[[nodiscard]] TerminalSize terminal_size(int fd);

// What could change what a terminal does or shows elsewhere becomes visible: control characters (C0, DEL, C1), line and
// paragraph separators, and the marks and overrides of writing direction as \uXXXX, which inside a JSON string means
// the same; a byte that is not UTF-8 as \xXX.
[[nodiscard]] std::string escape_controls(std::string_view text);

// How many columns of a terminal the text takes; escaped text, or text of which nothing needs to be escaped.
[[nodiscard]] std::size_t width_of(std::string_view text);

// As much of the text's beginning as fits that many columns.
[[nodiscard]] std::string_view beginning_of_width(std::string_view text, std::size_t columns);

}  // namespace looseleaf::cli

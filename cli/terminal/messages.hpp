// Standard error: errors, warnings, notes and the status line of a running job.
#pragma once

#include <looseleaf/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::cli {

// How a message is worded: "looseleaf: <kind>: what", its context one per line, then its hint.
[[nodiscard]] std::string format_message(std::string_view kind, std::string_view what, const Error::Context& context,
                                         std::string_view hint);

// For a message that an error is the reason of: what it says, then its context.
[[nodiscard]] Error::Context as_reason(const Error& error);

// All of these may be called from any thread; a message comes out whole.
void print_error(const Error& error);
void print_warning(std::string_view what, const Error::Context& context = {}, std::string_view hint = {});
// "looseleaf: text".
void print_note(std::string_view text);
// Text of several lines as it is, ending with a line end.
void print_plain(const std::string& text);

// Keeps `lines` as the last lines of the terminal until they are replaced, or taken away by none. What does not fit the
// window is left out. Only if redraws_messages().
void set_status_lines(const std::vector<std::string>& lines);

[[nodiscard]] bool messages_on_terminal();
// On a terminal that understands escape sequences.
[[nodiscard]] bool redraws_messages();

// Colours the kinds of messages; off at first.
void set_message_colors(bool on);

}  // namespace looseleaf::cli

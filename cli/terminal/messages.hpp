// Standard error: errors, warnings, notes and the status line of a running job.
#pragma once

#include <looseleaf/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::cli {

// The text of a message: "looseleaf: <kind>: what", its context line by line, then its hint.
[[nodiscard]] std::string format_message(std::string_view kind, std::string_view what, const Error::Context& context,
                                         std::string_view hint);

// The context of a message whose reason is an error: the error's text, then its context.
[[nodiscard]] Error::Context as_reason(const Error& error);

// All of these may be called from any thread. Messages are not mixed.
void print_error(const Error& error);
void print_warning(std::string_view what, const Error::Context& context = {}, std::string_view hint = {});
// Prints "looseleaf: text".
void print_note(std::string_view text);
// Prints a text of several lines unchanged. It must end with a line break.
void print_plain(const std::string& text);

// Keeps `lines` as the last lines of the terminal until the next call. Lines that do not fit the window are left out.
// Call it only if redraws_messages().
void set_status_lines(const std::vector<std::string>& lines);

[[nodiscard]] bool messages_on_terminal();
// True if standard error is a terminal that understands escape sequences.
[[nodiscard]] bool redraws_messages();

// Switches the colours of messages on or off. They are off at first.
void set_message_colors(bool on);

}  // namespace looseleaf::cli

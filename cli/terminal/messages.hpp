// Standard error: errors, warnings, notes and the status line of a running job. With --output json, each message is a
// JSON object on a line of its own, except for prompts and the status line, which only a terminal shows.
#pragma once

#include <functional>
#include <looseleaf/error.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/registry/exit_status.hpp"

namespace looseleaf::cli {

// The text of a message: "looseleaf: <kind>: what", its context line by line, then its hint.
[[nodiscard]] std::string format_message(std::string_view kind, std::string_view what, const Error::Context& context,
                                         std::string_view hint);

// The context of a message whose reason is an error: the error's text, then its context.
[[nodiscard]] Error::Context as_reason(const Error& error);

// All of these may be called from any thread. Messages are not mixed.
// With an exit status, the error is why the command ends.
void print_error(const Error& error, std::optional<ExitStatus> exit_status = std::nullopt);
void print_warning(std::string_view what, const Error::Context& context = {}, std::string_view hint = {});
// Prints "looseleaf: text", unless messages are quiet.
void print_note(std::string_view text);
// The same of what ends an error or takes the place of one: also if messages are quiet.
void print_always(std::string_view text);
// Prints a text of several lines unchanged. It must end with a line break.
void print_plain(const std::string& text);

// Keeps `lines` as the last lines of the terminal until the next call. Lines that do not fit the window are left out.
// Call it only if redraws_messages().
void set_status_lines(const std::vector<std::string>& lines);

// Calls `write`, which writes to the same terminal, while those lines are not there.
void without_status_lines(const std::function<void()>& write);

[[nodiscard]] bool messages_on_terminal();
// True if standard error is a terminal that understands escape sequences.
[[nodiscard]] bool redraws_messages();

struct MessageStyle {
  bool json = false;
  bool quiet = false;  // without notes
  bool colors = false;
};
// Sets the style of all messages. At first nothing of it is on.
void set_message_style(const MessageStyle& style);
[[nodiscard]] bool messages_are_json();

}  // namespace looseleaf::cli

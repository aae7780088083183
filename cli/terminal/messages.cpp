// Messages on standard error.
#include "cli/terminal/messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "cli/terminal/json.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::string_view erase_line = "\r\033[K";
constexpr std::string_view erase_line_above = "\033[A\033[K";
constexpr std::size_t margin = 3;  // columns: a terminal echoes ^C after the last line, and the line must not wrap then

std::atomic<bool> as_json{false}, quiet{false}, colors{false};

struct Terminal {
  std::mutex mutex;
  std::vector<std::string> status_lines;

  std::vector<std::size_t> drawn;  // the widths of the lines on the terminal

  // If the window became narrower, the terminal has wrapped the lines.
  [[nodiscard]] std::string erase() const {
    const std::size_t columns = terminal_size(STDERR_FILENO).columns;
    std::size_t rows = 0;
    for (const std::size_t width : drawn) {
      rows += width == 0 ? 1 : (width + columns - 1) / columns;
    }
    std::string sequence(erase_line);
    for (std::size_t row = 1; row < rows; ++row) {
      sequence += erase_line_above;
    }
    return sequence;
  }

  // Draws the last lines that fit the window, and of each line its beginning.
  std::string draw() {
    const TerminalSize size = terminal_size(STDERR_FILENO);
    const std::size_t count = std::min(status_lines.size(), std::max<std::size_t>(size.rows - 1, 1));
    std::string text;
    drawn.clear();
    for (auto line = status_lines.end() - static_cast<std::ptrdiff_t>(count); line != status_lines.end(); ++line) {
      const std::string_view shown = beginning_of_width(*line, size.columns - std::min(size.columns, margin));
      text.append(drawn.empty() ? "" : "\n").append(shown);
      drawn.push_back(width_of(shown));
    }
    return text;
  }
};

Terminal& terminal() {
  static Terminal instance;
  return instance;
}

// A failure of standard error cannot be reported, so it is ignored.
void write_error_output(std::string_view data) {
  static_cast<void>(write_all(STDERR_FILENO, data));
}

void print_message(const std::string& message) {
  const std::lock_guard lock(terminal().mutex);
  if (terminal().status_lines.empty()) {
    write_error_output(message);
  } else {
    const std::string erase = terminal().erase();
    write_error_output(erase + message + terminal().draw());
  }
}

// A message as one line. The escapes mean the same in a JSON string.
std::string json_line(std::string_view event, std::string_view what, const Error::Context& context,
                      std::string_view hint, std::optional<ExitStatus> exit_status = std::nullopt) {
  Json message = {{"event", event}, {"what", what}, {"context", json_of_context(context)}, {"hint", hint}};
  if (exit_status) {
    message["exit_status"] = static_cast<int>(*exit_status);
  }
  return escape_controls(message.dump(-1, ' ', false, Json::error_handler_t::replace)) + '\n';
}

std::string colored(std::string_view kind, std::string_view color) {
  return colors ? std::string("\033[1;") + std::string(color) + "m" + std::string(kind) + "\033[0m" : std::string(kind);
}

}  // namespace

std::string format_message(std::string_view kind, std::string_view what, const Error::Context& context,
                           std::string_view hint) {
  std::string message = "looseleaf: ";
  if (!kind.empty()) {
    message.append(kind).append(": ");
  }
  message += escape_controls(what) + '\n';
  for (const auto& [key, value] : context) {
    message += "  " + escape_controls(key) + ": " + escape_controls(value) + '\n';
  }
  if (!hint.empty()) {
    message += "hint: " + escape_controls(hint) + '\n';
  }
  return message;
}

Error::Context as_reason(const Error& error) {
  Error::Context context = {{"reason", error.what()}};
  context.insert(context.end(), error.context().begin(), error.context().end());
  return context;
}

void print_error(const Error& error, std::optional<ExitStatus> exit_status) {
  print_message(as_json ? json_line("error", error.what(), error.context(), error.hint(), exit_status)
                        : format_message(colored("error", "31"), error.what(), error.context(), error.hint()));
}

void print_warning(std::string_view what, const Error::Context& context, std::string_view hint) {
  print_message(as_json ? json_line("warning", what, context, hint)
                        : format_message(colored("warning", "33"), what, context, hint));
}

void print_note(std::string_view text) {
  if (!quiet) {
    print_always(text);
  }
}

void print_always(std::string_view text) {
  // A note is about the data that was printed, so it must follow that in a log of both streams.
  static_cast<void>(data_output().flush());
  print_message(as_json ? json_line("note", text, {}, {}) : format_message({}, text, {}, {}));
}

void print_plain(const std::string& text) {
  print_message(text);
}

void set_status_lines(const std::vector<std::string>& lines) {
  const std::lock_guard lock(terminal().mutex);
  if (lines.empty() && terminal().status_lines.empty()) {
    return;
  }
  const std::string erase = terminal().erase();
  terminal().status_lines.clear();
  std::transform(lines.begin(), lines.end(), std::back_inserter(terminal().status_lines),
                 [](const std::string& line) { return escape_controls(line); });
  write_error_output(erase + terminal().draw());
}

void without_status_lines(const std::function<void()>& write) {
  const std::lock_guard lock(terminal().mutex);
  if (terminal().status_lines.empty()) {
    write();
  } else {
    write_error_output(terminal().erase());
    write();
    write_error_output(terminal().draw());
  }
}

bool redraws_messages() {
  static const bool redraws = understands_escapes(STDERR_FILENO);
  return redraws;
}

bool messages_on_terminal() {
  static const bool on_terminal = ::isatty(STDERR_FILENO) == 1;
  return on_terminal;
}

void set_message_style(const MessageStyle& style) {
  as_json = style.json;
  quiet = style.quiet;
  colors = style.colors;
}

bool messages_are_json() {
  return as_json;
}

}  // namespace looseleaf::cli

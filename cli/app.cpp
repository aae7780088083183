// Runs the command line: help, the command that was parsed, and what becomes of failures.
#include "cli/app.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <looseleaf/error.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/completion.hpp"
#include "cli/help.hpp"
#include "cli/parse.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {
namespace {

// --help or -h may be anywhere on the line, even if the rest of it is wrong. Absent without them.
std::optional<std::string> wanted_help(const Registry& registry, const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const bool in_full = std::find(words.begin(), end, "--help") != end;
  if (!in_full && std::find(words.begin(), end, "-h") == end) {
    return std::nullopt;
  }
  const std::size_t width = help_width(STDOUT_FILENO);
  const auto is_named = [](const std::string& word, const Command& command) { return word == command.name; };
  const auto named = std::find_first_of(words.begin(), end, registry.begin(), registry.end(), is_named);
  for (const auto& command : registry) {
    if (named != end && is_named(*named, command)) {
      return in_full ? help_text(command, width) : short_help(command, width);
    }
  }
  return in_full ? help_text(registry, width) : short_help(registry, width);
}

// `looseleaf help`, `looseleaf help put`.
ExitStatus print_help(const Registry& registry, const std::vector<std::string>& topics) {
  const std::size_t width = help_width(STDOUT_FILENO);
  if (topics.size() > 1) {
    throw Error(ErrorCode::usage, "unexpected argument", {{"argument", topics[1]}}, "give one command");
  }
  const auto is_topic = [&](const auto& command) { return !topics.empty() && command.name == topics.front(); };
  const auto command = std::find_if(registry.begin(), registry.end(), is_topic);
  if (command != registry.end()) {
    print_lines(help_text(*command, width));
  } else if (topics.empty() || std::any_of(built_ins().begin(), built_ins().end(), is_topic)) {
    print_lines(help_text(registry, width));
  } else {
    refuse_unknown_command(topics.front(), registry);
  }
  return ExitStatus::done;
}

// Looks for --output json anywhere on the line, even if the rest of it is wrong. The last --output counts.
bool wants_json(const std::vector<std::string>& words) {
  constexpr std::string_view option = "--output", with_value = "--output=";
  bool json = false;
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    if (word->starts_with(with_value)) {
      json = word->substr(with_value.size()) == "json";
    } else if (*word == option && word + 1 != words.end()) {
      json = *++word == "json";
    }
  }
  return json;
}

ExitStatus run_parsed(const Parsed& parsed, const Registry& registry) {
  if (parsed.built_in != nullptr && parsed.built_in->name == "help") {
    return print_help(registry, parsed.help_topics);
  }
  if (parsed.version || parsed.built_in != nullptr) {
    parsed.globals.json() ? print_summary({{"version", LOOSELEAF_VERSION}})
                          : print_line("looseleaf " LOOSELEAF_VERSION);
    return ExitStatus::done;
  }
  if (parsed.command == nullptr && parsed.globals.json()) {
    throw Error(ErrorCode::usage, "no command was given", {}, see_help(""));
  }
  if (parsed.command == nullptr) {
    print_plain(short_help(registry, help_width(STDERR_FILENO)));
    return ExitStatus::usage;
  }
  check_required(*parsed.command);
  return parsed.command->run(parsed.globals);
}

ExitStatus report(const Error& error) {
  const ExitStatus status = exit_status_of(error.code(), stop_signal());
  const std::string go_on = error.hint().empty() ? "run the same command to resume" : error.hint();
  if (error.code() != ErrorCode::interrupted || !stop_requested()) {
    print_error(error, status);
  } else if (messages_are_json()) {
    print_error(Error(error.code(), "interrupted", {}, go_on), status);
  } else {
    print_always("interrupted; " + go_on);
  }
  return status;
}

template <typename Function>
ExitStatus guarded(Function&& function) {
  try {
    return function();
  } catch (const Error& error) {
    return report(error);
  } catch (const std::exception& error) {
    print_error(Error(ErrorCode::server, "unexpected failure", {{"reason", error.what()}},
                      "report this bug, unless the process ran out of memory"),
                ExitStatus::failed);
    return ExitStatus::failed;
  }
}

}  // namespace

ExitStatus run_app(Registry registry, int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  // This applies until the options are parsed, and if they cannot be.
  set_message_style({.json = wants_json(words), .colors = wants_color(Globals{})});
  const ExitStatus status = guarded([&] {
    if (argc > 1 && std::string_view(argv[1]) == "__complete") {
      answer_completion(registry, {argv + 2, argv + argc});
    }
    if (const auto help = wanted_help(registry, words)) {
      print_lines(*help);
      return ExitStatus::done;
    }
    Parsed parsed;
    parse(parsed, registry, argc, argv);
    return run_parsed(parsed, registry);
  });
  const ExitStatus output_status = guarded([] {
    finish_output();
    return ExitStatus::done;
  });
  return stronger(status, output_status);
}

}  // namespace looseleaf::cli

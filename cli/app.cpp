// Parses the command line; the only file that includes CLI11.
#include "cli/app.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <looseleaf/error.hpp>

#include "cli/help.hpp"
#include "cli/messages.hpp"
#include "cli/numbers.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/text.hpp"

namespace looseleaf::cli {
namespace {

struct Parsed {
  Globals globals;
  bool help = false;
  bool version = false;
  const Command* command = nullptr;  // absent if none was named
};

std::string in_backticks(const std::string& text) {
  return fmt::format("did you mean `{}`?", text);
}

void check_choice(const Parameter& parameter, const std::string& text) {
  const auto& choices = parameter.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end()) {
    throw Error(ErrorCode::usage, "not a possible value", {{"option", parameter.name}, {"value", text}},
                fmt::format("choose one of {}", fmt::join(choices, ", ")));
  }
}

void store_value(const Parameter& parameter, const std::string& text) {
  check_choice(parameter, text);
  if (auto* const* string = std::get_if<std::string*>(&parameter.target)) {
    **string = text;
  } else if (auto* const* given = std::get_if<std::optional<std::string>*>(&parameter.target)) {
    **given = text;
  } else if (auto* const* number = std::get_if<std::uint64_t*>(&parameter.target)) {
    **number = parse_count(parameter.name, text);
  } else if (auto* const* optional = std::get_if<std::optional<std::uint64_t>*>(&parameter.target)) {
    **optional = parse_count(parameter.name, text);
  } else if (auto* const* seconds = std::get_if<double*>(&parameter.target)) {
    **seconds = parse_seconds(parameter.name, text);
  }
}

// Nothing is required in CLI11's eyes, so that a misspelt option is reported rather than what it seems to leave out.
void add_parameter(CLI::App& app, const Parameter& parameter) {
  if (auto* const* flag = std::get_if<bool*>(&parameter.target)) {
    app.add_flag(parameter.name, **flag);
  } else if (auto* const* list = std::get_if<std::vector<std::string>*>(&parameter.target)) {
    app.add_option(parameter.name, **list);
  } else {
    const auto store = [&parameter](const std::string& text) { store_value(parameter, text); };
    CLI::Option* option = app.add_option_function<std::string>(parameter.name, store);
    option->take_last();
  }
}

void check_required(const Command& command) {
  for (const auto& parameter : command.parameters) {
    const auto* const* list = std::get_if<std::vector<std::string>*>(&parameter.target);
    const auto* const* text = std::get_if<std::string*>(&parameter.target);
    if (parameter.required && ((list != nullptr && (*list)->empty()) || (text != nullptr && (*text)->empty()))) {
      throw Error(ErrorCode::usage, "an argument is missing", {{"argument", parameter.name}},
                  fmt::format("see `looseleaf {} --help`", command.name));
    }
  }
}

[[noreturn]] void refuse_unknown_option(const std::string& given, const std::vector<Parameter>& known) {
  const std::string name = given.substr(0, given.find('='));
  std::vector<std::string> names{"--help"};
  for (const auto& parameter : known) {
    if (parameter.is_option()) {
      names.push_back(parameter.name);
    }
  }
  const auto match = nearest(name, names);
  if (!match && (name.starts_with("--passw") || (name.starts_with("-p") && name != "-p"))) {  // as of mysql's -pSECRET
    throw Error(ErrorCode::usage, "a password on the command line", {},
                "put it into an option file, or into a file that LOOSELEAF_PASSWORD_FILE names");
  }
  throw Error(ErrorCode::usage, "unknown option", {{"option", name}}, match ? in_backticks(*match) : "");
}

[[noreturn]] void refuse_unknown_command(const std::string& given, const Registry& registry) {
  std::vector<std::string> names;
  for (const auto& command : registry) {
    names.push_back(command.name);
  }
  const auto match = nearest(given, names);
  throw Error(ErrorCode::usage, "unknown command", {{"command", given}},
              match ? in_backticks(*match) : "`looseleaf --help` lists the commands");
}

void refuse_extras(const CLI::App& app, const Parsed& parsed, const Registry& registry, std::vector<Parameter> known) {
  const std::vector<std::string> extras = app.remaining(true);
  const auto is_option = [](const std::string& text) { return text.size() > 1 && text.front() == '-' && text != "--"; };
  const auto is_argument = [&](const std::string& text) { return !is_option(text) && text != "--"; };
  const auto argument = std::find_if(extras.begin(), extras.end(), is_argument);
  if (parsed.command == nullptr && argument != extras.end()) {
    refuse_unknown_command(*argument, registry);
  }
  if (parsed.command != nullptr) {
    known.insert(known.end(), parsed.command->parameters.begin(), parsed.command->parameters.end());
  }
  const auto option = std::find_if(extras.begin(), extras.end(), is_option);
  if (option != extras.end()) {
    refuse_unknown_option(*option, known);
  }
  if (argument != extras.end()) {
    throw Error(ErrorCode::usage, "one argument too many", {{"argument", *argument}},
                fmt::format("see `looseleaf {} --help`", parsed.command->name));
  }
}

void parse_arguments(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    throw Error(ErrorCode::usage, "an option needs a value", {{"option", what.substr(0, what.find(':'))}},
                "see `looseleaf COMMAND --help`");
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::usage, "the command line cannot be understood", {{"reason", error.what()}},
                "see `looseleaf COMMAND --help`");
  }
}

void parse(Parsed& parsed, const Registry& registry, int argc, const char* const* argv) {
  CLI::App app;
  const std::vector<Parameter> common = common_parameters(parsed.globals);
  const auto prepare = [&](CLI::App& target) {
    target.set_help_flag();
    target.allow_extras();
    target.add_flag("-h,--help", parsed.help);
    for (const auto& parameter : common) {
      add_parameter(target, parameter);
    }
  };
  prepare(app);
  app.add_flag("--version", parsed.version);
  app.require_subcommand(0, 1);
  for (const auto& command : registry) {
    CLI::App* sub = app.add_subcommand(command.name);
    prepare(*sub);
    for (const auto& parameter : command.parameters) {
      add_parameter(*sub, parameter);
    }
    sub->callback([&parsed, &command] { parsed.command = &command; });
  }
  parse_arguments(app, argc, argv);
  if (!parsed.help) {
    refuse_extras(app, parsed, registry, common);
  }
}

bool wants_color(const Globals& globals) {
  if (globals.color != "auto") {
    return globals.color == "always";
  }
  const char* no_color = std::getenv("NO_COLOR");
  return messages_on_terminal() && (no_color == nullptr || *no_color == '\0');
}

void print_text(std::string text) {
  text.pop_back();
  print_line(text);
}

ExitStatus run_parsed(const Parsed& parsed, const Registry& registry) {
  if (parsed.version) {
    print_line("looseleaf " LOOSELEAF_VERSION);
    return ExitStatus::done;
  }
  if (parsed.help) {
    print_text(parsed.command != nullptr ? help_text(*parsed.command) : help_text(registry));
    return ExitStatus::done;
  }
  if (parsed.command == nullptr) {
    print_plain(help_text(registry));
    return ExitStatus::usage;
  }
  check_required(*parsed.command);
  set_message_colors(wants_color(parsed.globals));
  return parsed.command->run(parsed.globals);
}

ExitStatus report(const Error& error) {
  if (error.code() == ErrorCode::interrupted && stop_requested()) {
    print_note("stopped by a signal; everything is consistent");
  } else {
    print_error(error);
  }
  return exit_status_of(error.code(), stop_signal());
}

template <typename Function>
ExitStatus guarded(Function&& function) {
  try {
    return function();
  } catch (const Error& error) {
    return report(error);
  } catch (const std::exception& error) {
    print_error(Error(ErrorCode::server, "an unexpected failure", {{"reason", error.what()}}));
    return ExitStatus::failed;
  }
}

}  // namespace

ExitStatus run_app(Registry registry, int argc, const char* const* argv) {
  const ExitStatus status = guarded([&] {
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

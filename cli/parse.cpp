// Parses the command line; the only file that includes CLI11.
#include "cli/parse.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <looseleaf/error.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.hpp"
#include "cli/terminal/messages.hpp"

namespace looseleaf::cli {
namespace {

std::string in_backticks(std::string_view text) {
  return fmt::format("did you mean `{}`?", text);
}

void check_choice(const Parameter& parameter, const std::string& text) {
  const auto& choices = parameter.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end()) {
    throw Error(ErrorCode::usage, "invalid value",
                {{parameter.is_option() ? "option" : "argument", parameter.name}, {"value", text}},
                fmt::format("choose one of {}", fmt::join(choices, ", ")));
  }
}

bool knows_option(const CLI::App& app, const std::string& name) {
  return app.get_option_no_throw(name) != nullptr ||
         (app.get_parent() != nullptr && knows_option(*app.get_parent(), name));
}

[[noreturn]] void refuse_empty_value(const std::string& option) {
  throw Error(ErrorCode::usage, "an option has an empty value", {{"option", option}},
              "leave the option out, or give it a value; if that is a variable of the shell, it is not set");
}

// An empty value, often that of a variable that the shell does not have, would be taken for no value. A command that
// can tell them apart has a message of its own. Another option is taken for a value that was forgotten. A page token
// and a text may begin with -- as well.
void refuse_forgotten_value(const CLI::App& app, const Parameter& parameter, const std::string& text) {
  if (text.empty() && parameter.is_option() && std::holds_alternative<std::string*>(parameter.target)) {
    refuse_empty_value(parameter.name);
  }
  const bool may_begin_so = parameter.value == "TOKEN" || parameter.value == "TEXT";
  if (text.starts_with("--") && parameter.is_option() &&
      (!may_begin_so || knows_option(app, text.substr(0, text.find('='))))) {
    throw Error(
        ErrorCode::usage, "another option is the value of " + parameter.name,
        {{"option", parameter.name}, {"value", text}},
        fmt::format("write {} {}; a file whose name begins with -- is ./--name", parameter.name, parameter.value));
  }
}

// CLI11 takes a word in brackets for a list, wherever it stands. A mark behind the brackets hides them.
constexpr char bracket_mark = '\x1f';

std::vector<std::string> mark_brackets(int argc, const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (std::string& word : words) {
    if (word.starts_with('[') && word.ends_with(']')) {
      word += bracket_mark;
    }
  }
  return words;
}

std::string without_mark(const std::string& word) {
  const bool is_marked = word.starts_with('[') && word.ends_with(bracket_mark);
  return is_marked ? word.substr(0, word.size() - 1) : word;
}

void store_value(const CLI::App& app, const Parameter& parameter, const std::string& marked) {
  const std::string text = without_mark(marked);
  refuse_forgotten_value(app, parameter, text);
  check_choice(parameter, text);
  if (auto* const* string = std::get_if<std::string*>(&parameter.target)) {
    **string = text;
  } else if (auto* const* given = std::get_if<std::optional<std::string>*>(&parameter.target)) {
    **given = text;
  } else if (auto* const* number = std::get_if<std::uint64_t*>(&parameter.target)) {
    **number = parse_count(parameter.name, text, parameter.range);
  } else if (auto* const* optional = std::get_if<std::optional<std::uint64_t>*>(&parameter.target)) {
    **optional = parse_count(parameter.name, text, parameter.range);
  } else if (auto* const* seconds = std::get_if<double*>(&parameter.target)) {
    **seconds = parse_seconds(parameter.name, text);
  } else if (auto* const* perhaps_seconds = std::get_if<std::optional<double>*>(&parameter.target)) {
    **perhaps_seconds = parse_seconds(parameter.name, text);
  }
}

// CLI11 is not told which arguments are required: it would report a missing argument instead of a misspelt option.
void add_parameter(CLI::App& app, const Parameter& parameter) {
  if (auto* const* flag = std::get_if<bool*>(&parameter.target)) {
    app.add_flag(parameter.name, **flag);
  } else if (auto* const* list = std::get_if<std::vector<std::string>*>(&parameter.target)) {
    CLI::Option* option = app.add_option(parameter.name, **list);
    option->allow_extra_args(!parameter.is_option());  // each use of an option takes one value
  } else {
    const auto store = [&app, &parameter](const std::string& text) { store_value(app, parameter, text); };
    CLI::Option* option = app.add_option_function<std::string>(parameter.name, store);
    option->take_last();
  }
}

// CLI11 takes one list of arguments only. If a command has a second one, that gets what follows `--`.
const Parameter* second_list(const Command& command) {
  bool has_first = false;
  for (const Parameter& parameter : command.parameters) {
    if (parameter.is_list() && !parameter.is_option()) {
      if (has_first) {
        return &parameter;
      }
      has_first = true;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse_unknown_option(const std::string& given, const std::vector<Parameter>& known,
                                        const Parsed& parsed) {
  const std::string name = given.substr(0, given.find('='));
  std::vector<std::string_view> names{"--help", "--version"};
  for (const auto& parameter : known) {
    if (parameter.is_option()) {
      names.push_back(parameter.name);
    }
  }
  const auto match = base::nearest(name, names);
  if (!match && (name.starts_with("--passw") || (name.starts_with("-p") && name != "-p"))) {  // like mysql's -pSECRET
    throw Error(ErrorCode::usage, "passwords are not allowed on the command line", {},
                "put it into an option file, or into a file that LOOSELEAF_PASSWORD_FILE names");
  }
  std::string hint = match ? in_backticks(*match) : see_help(parsed.name());
  if (!match && parsed.command != nullptr && second_list(*parsed.command) != nullptr) {
    hint = fmt::format("if it is an option of your command, write `--` before that; {}", hint);
  }
  throw Error(ErrorCode::usage, "unknown option", {{"option", name}}, std::move(hint));
}

// `behind` are the words behind `--`. Those that a wrong option keeps from their place look like words before the
// command.
void refuse_extras(const CLI::App& app, const Parsed& parsed, const Registry& registry, std::vector<Parameter> known,
                   const std::set<std::string>& behind) {
  std::vector<std::string> extras = app.remaining(true);
  std::transform(extras.begin(), extras.end(), extras.begin(), without_mark);
  const auto is_option = [](const std::string& text) { return text.size() > 1 && text.front() == '-' && text != "--"; };
  const auto is_argument = [&](const std::string& text) { return !is_option(text) && text != "--"; };
  const auto argument = std::find_if(extras.begin(), extras.end(), is_argument);
  std::vector<std::string> before_command = app.remaining(false);
  std::transform(before_command.begin(), before_command.end(), before_command.begin(), without_mark);
  std::erase_if(before_command, [&](const std::string& word) { return behind.contains(word); });
  if (argument != extras.end() &&
      (parsed.name().empty() || (!before_command.empty() && is_argument(before_command.front())))) {
    refuse_unknown_command(*argument, registry);
  }
  if (parsed.command != nullptr) {
    known.insert(known.end(), parsed.command->parameters.begin(), parsed.command->parameters.end());
  }
  const auto option = std::find_if(extras.begin(), extras.end(), is_option);
  if (option != extras.end()) {
    refuse_unknown_option(*option, known, parsed);
  }
  if (argument != extras.end()) {
    throw Error(ErrorCode::usage, "unexpected argument", {{"argument", *argument}}, see_help(parsed.name()));
  }
}

// CLI11 takes `--yes=` and `--yes=5` for `--yes`, and `--yes=no` for nothing. Behind `--file=` it takes the next word
// for the value.
void check_values_behind_equals(const CLI::App& app, const std::vector<std::string>& words) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::vector<const CLI::App*> known = {&app};
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    const auto is_named = [&](const CLI::App* command) { return command->get_name() == *word; };
    const auto command = std::find_if(commands.begin(), commands.end(), is_named);
    if (command != commands.end() && known.size() == 1) {
      known.push_back(*command);
    }
    if (!word->starts_with("--")) {
      continue;
    }
    const std::size_t equals = word->find('=');
    const std::string name = word->substr(0, equals);
    for (const CLI::App* one : known) {
      const CLI::Option* const option = one->get_option_no_throw(name);
      if (option != nullptr && equals == std::string::npos && option->get_items_expected() > 0) {
        word += word + 1 == words.end() ? 0 : 1;  // its value
        break;
      }
      if (option != nullptr && equals != std::string::npos && option->get_items_expected() == 0) {
        throw Error(ErrorCode::usage, "this option takes no value",
                    {{"option", name}, {"value", word->substr(equals + 1)}},
                    fmt::format("write {} alone, or leave it out", name));
      }
      if (option != nullptr && equals + 1 == word->size()) {
        refuse_empty_value(name);
      }
    }
  }
}

void parse_arguments(CLI::App& app, const std::vector<std::string>& words) {
  check_values_behind_equals(app, words);
  const auto hint = [&app] {
    const auto named = app.get_subcommands();
    return see_help(named.empty() ? "" : named.front()->get_name());
  };
  std::vector<const char*> argv;
  std::transform(words.begin(), words.end(), std::back_inserter(argv), [](const auto& word) { return word.c_str(); });
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    throw Error(ErrorCode::usage, "an option needs a value", {{"option", what.substr(0, what.find(':'))}}, hint());
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::usage, "cannot parse the command line", {{"reason", error.what()}}, hint());
  }
}

// Fills the second list, and returns the number of words without it.
int take_second_list(const Registry& registry, int argc, const char* const* argv) {
  const std::vector<std::string_view> words(argv, argv + argc);
  const auto end = std::find(words.begin(), words.end(), "--");
  const auto is_named = [](std::string_view word, const Command& command) { return word == command.name; };
  const auto named = std::find_first_of(words.begin(), end, registry.begin(), registry.end(), is_named);
  if (named == end || end == words.end()) {
    return argc;
  }
  const auto command =
      std::find_if(registry.begin(), registry.end(), [&](const Command& other) { return is_named(*named, other); });
  const Parameter* const list = second_list(*command);
  if (list == nullptr) {
    return argc;
  }
  std::get<std::vector<std::string>*>(list->target)->assign(end + 1, words.end());
  return static_cast<int>(end - words.begin());
}

// Warns of options of which only the last value counts: users who repeat one expect something else.
void warn_of_repeated_options(const CLI::App& app, const std::vector<Parameter>& parameters) {
  const auto count_before_command = [&](const CLI::Option& option) {
    const CLI::Option* const same =
        app.get_parent() != nullptr ? app.get_parent()->get_option_no_throw(option.get_name()) : nullptr;
    return same != nullptr ? same->count() : 0;
  };
  const auto is_given_behind_command = [&](const CLI::Option& option) {  // and is warned of there
    const auto commands = app.get_subcommands();
    return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
      const CLI::Option* const same = command->get_option_no_throw(option.get_name());
      return same != nullptr && same->count() > 0;
    });
  };
  const auto takes_names = [&](const std::string& name) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const Parameter& one) { return one.name == name && one.value == "NAMES"; });
  };
  for (const CLI::Option* const option : app.get_options()) {
    const bool has_value = option->get_items_expected() > 0;
    if (has_value && option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast && option->count() > 0 &&
        option->count() + count_before_command(*option) > 1 && !is_given_behind_command(*option)) {
      print_warning("an option was given more than once; only its last value counts",
                    {{"option", option->get_name()}, {"value", without_mark(option->results().back())}},
                    takes_names(option->get_name()) ? "give it once, with commas between the names" : "give it once");
    }
  }
}

}  // namespace

std::string see_help(std::string_view command) {
  return command.empty() ? "see `looseleaf --help`" : fmt::format("see `looseleaf {} --help`", command);
}

bool wants_color(const Globals& globals) {
  if (globals.color != "auto") {
    return globals.color == "always";
  }
  const char* no_color = std::getenv("NO_COLOR");
  return redraws_messages() && (no_color == nullptr || *no_color == '\0');
}

void check_required(const Command& command) {
  for (const auto& parameter : command.parameters) {
    const auto* const* list = std::get_if<std::vector<std::string>*>(&parameter.target);
    const auto* const* text = std::get_if<std::string*>(&parameter.target);
    const bool is_required = parameter.required && (parameter.instead == nullptr || parameter.instead->empty());
    if (is_required && ((list != nullptr && (*list)->empty()) || (text != nullptr && (*text)->empty()))) {
      throw Error(ErrorCode::usage, "an argument is missing", {{"argument", parameter.name}},
                  fmt::format("{}see `looseleaf {} --help`",
                              parameter.instead != nullptr ? "give ids, or - to read them from standard input; " : "",
                              command.name));
    }
  }
}

void refuse_unknown_command(const std::string& given, const Registry& registry) {
  std::vector<std::string_view> names;
  for (const auto& command : registry) {
    names.push_back(command.name);
  }
  for (const auto& built_in : built_ins()) {
    names.push_back(built_in.name);
  }
  const auto match = base::nearest(given, names);
  throw Error(ErrorCode::usage, "unknown command", {{"command", given}},
              match ? in_backticks(*match) : "see `looseleaf --help` for the commands");
}

void parse(Parsed& parsed, const Registry& registry, int argc, const char* const* argv) {
  CLI::App app;
  const std::vector<Parameter> common = common_parameters(parsed.globals);
  std::deque<std::vector<Parameter>> common_of_commands;
  const auto prepare = [](CLI::App& target, const std::vector<Parameter>& parameters) {
    target.set_help_flag();
    target.allow_extras();
    for (const auto& parameter : parameters) {
      add_parameter(target, parameter);
    }
  };
  prepare(app, common);
  app.add_flag("--version", parsed.version);
  app.require_subcommand(0, 1);
  for (const auto& command : registry) {
    CLI::App* sub = app.add_subcommand(command.name);
    prepare(*sub, common_of_commands.emplace_back(common_parameters(parsed.globals, &command)));
    for (const auto& parameter : command.parameters) {
      if (&parameter != second_list(command)) {
        add_parameter(*sub, parameter);
      }
    }
    sub->callback([&parsed, &command] { parsed.command = &command; });
  }
  for (const auto& built_in : built_ins()) {
    CLI::App* sub = app.add_subcommand(built_in.name);
    prepare(*sub, common);
    if (!built_in.argument.empty()) {
      sub->add_option(built_in.argument, parsed.help_topics);
    }
    sub->callback([&parsed, &built_in] { parsed.built_in = &built_in; });
  }
  parse_arguments(app, mark_brackets(take_second_list(registry, argc, argv), argv));
  for (const Parameter& parameter : parsed.command != nullptr ? parsed.command->parameters : std::vector<Parameter>()) {
    if (auto* const* list = std::get_if<std::vector<std::string>*>(&parameter.target)) {
      std::transform((*list)->begin(), (*list)->end(), (*list)->begin(), without_mark);
    }
  }
  std::vector<std::string>& topics = parsed.help_topics;
  std::transform(topics.begin(), topics.end(), topics.begin(), without_mark);
  const char* const* const dashes = std::find(argv, argv + argc, std::string_view("--"));
  set_message_style(
      {.json = parsed.globals.json(), .quiet = parsed.globals.quiet, .colors = wants_color(parsed.globals)});
  refuse_extras(app, parsed, registry, common, {dashes, argv + argc});
  warn_of_repeated_options(app, {});
  for (const CLI::App* const command : app.get_subcommands()) {
    warn_of_repeated_options(*command,
                             parsed.command != nullptr ? parsed.command->parameters : std::vector<Parameter>());
  }
  for (const auto& parameter : common_parameters(parsed.globals, parsed.command)) {
    if (parameter.name == "--output") {  // it may also be given before the command
      check_choice(parameter, parsed.globals.output);
    }
  }
}

}  // namespace looseleaf::cli

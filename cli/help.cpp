// The help texts.
#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "cli/terminal/terminal.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t widest_term = 26;

using Entry = std::pair<std::string, std::string>;

// Breaks `text` into lines of at most `width` columns and indents all but the first.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > 0 && column + 1 + word.size() > width) {
      result += '\n' + std::string(indent, ' ');
      column = 0;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string section(std::string_view title, const std::vector<Entry>& entries, std::size_t text_width) {
  if (entries.empty()) {
    return {};
  }
  std::size_t width = 0;
  for (const auto& [term, text] : entries) {
    width = std::max(width, std::min(term.size(), widest_term));
  }
  std::string result = fmt::format("\n{}:\n", title);
  for (const auto& [term, text] : entries) {
    result += fmt::format("  {:<{}}  {}\n", term, width, wrapped(text, width + 4, text_width - width - 4));
  }
  return result;
}

// The entries of the options, or those of the arguments.
std::vector<Entry> entries_of(const std::vector<Parameter>& parameters, bool options,
                              std::string (*text_of)(const Parameter&) = description_of) {
  std::vector<Entry> entries;
  for (const auto& parameter : parameters) {
    if (parameter.is_option() == options) {
      entries.emplace_back(term_of(parameter), text_of(parameter));
    }
  }
  return entries;
}

// A command's help only summarizes the common options; the program's own help describes them in full.
std::string common_options(const Command* command, std::size_t text_width) {
  Globals globals;
  std::vector<Parameter> parameters = common_parameters_for(command, globals);
  const std::vector<Parameter> of_help = help_parameters(command);
  parameters.insert(parameters.end(), of_help.begin(), of_help.end());
  return section("common options", entries_of(parameters, true, command == nullptr ? description_of : summary_of),
                 text_width);
}

std::string examples(const std::vector<Example>& examples) {
  std::string result = examples.empty() ? "" : "examples:\n";
  for (const auto& example : examples) {
    result += "  ";
    for (const char c : example.command) {
      result += c;
      result += c == '\n' ? "  " : "";
    }
    result += '\n';
  }
  return result;
}

std::string commands(const Registry& registry, std::size_t text_width) {
  std::vector<Entry> entries;
  for (const auto& command : registry) {
    entries.emplace_back(command.name, command.summary);
  }
  for (const auto& built_in : built_ins()) {
    entries.emplace_back(built_in.name, built_in.summary);
  }
  return section("commands", entries, text_width);
}

std::string usage_line(const Command& command) {
  return "usage: " + usage_of(command) + '\n';
}

}  // namespace

const std::vector<BuiltIn>& built_ins() {
  static const std::vector<BuiltIn> words{
      {"help", "COMMAND", "print the full help of the program or of a command, as `--help` does"},
      {"version", "", "print the version, as `--version` does"}};
  return words;
}

const std::vector<Example>& first_steps() {
  static const std::vector<Example> examples{
      {"Start private servers", "export LOOSELEAF_CLUSTER=$(looseleaf sandbox start --shards 2)"},
      {"Create the tables", "looseleaf init"},
      {"Store an entity", "echo '{\"user_id\": \"f48b0440ca0c4f66991c4d5f6a078eaf\"}' | looseleaf put"},
      {"Create and fill an index", "looseleaf create-index index_user_id.json --backfill"},
      {"Find the entity", "looseleaf query index_user_id user_id=f48b0440ca0c4f66991c4d5f6a078eaf"}};
  return examples;
}

std::size_t help_width(int fd) {
  constexpr std::size_t narrowest = 60;
  constexpr std::size_t widest = 120;
  return std::clamp(terminal_size(fd).columns, narrowest, widest);
}

std::string short_help(const Registry& registry, std::size_t width) {
  return examples(first_steps()) + "\nusage: looseleaf COMMAND [OPTION...] [ARGUMENT...]\n" +
         commands(registry, width) + '\n' +
         wrapped("`looseleaf COMMAND -h` shows how to use a command. See also `looseleaf --help` and `man looseleaf`.",
                 0, width) +
         '\n';
}

std::string short_help(const Command& command, std::size_t width) {
  constexpr std::string_view title = "options: ";
  std::vector<std::string> options;
  for (const auto& [term, text] : entries_of(command.parameters, true)) {
    options.push_back(term);
  }
  const std::string listed = wrapped(fmt::format("{}", fmt::join(options, ", ")), title.size(), width - title.size());
  return examples(command.examples) + '\n' + usage_line(command) +
         (options.empty() ? "" : fmt::format("{}{}\n", title, listed)) + '\n' +
         wrapped(fmt::format("For more, see `looseleaf {0} --help` and `man looseleaf-{0}`.", command.name), 0, width) +
         '\n';
}

std::string help_text(const Registry& registry, std::size_t width) {
  return "usage: looseleaf COMMAND [OPTION...] [ARGUMENT...]\n\n" +
         wrapped("Stores schema-free JSON entities and their indexes on sharded MySQL or MariaDB.", 0, width) + '\n' +
         commands(registry, width) + common_options(nullptr, width) + '\n' + examples(first_steps()) + '\n' +
         wrapped("For more on a command, see `looseleaf COMMAND --help`.", 0, width) + '\n';
}

std::string help_text(const Command& command, std::size_t width) {
  std::string details;
  for (const auto& paragraph : command.details) {
    details += '\n' + wrapped(paragraph, 0, width) + '\n';
  }
  return usage_line(command) + '\n' + wrapped(as_sentence(command.summary), 0, width) + '\n' + details +
         section("arguments", entries_of(command.parameters, false), width) +
         section("options", entries_of(command.parameters, true), width) + common_options(&command, width) + '\n' +
         examples(command.examples);
}

}  // namespace looseleaf::cli

// Help texts.
#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

namespace looseleaf::cli {
namespace {

constexpr std::size_t text_width = 100;
constexpr std::size_t widest_term = 26;

using Entry = std::pair<std::string, std::string>;

// Words of `text` in lines of at most `width`, each but the first indented.
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

std::string section(std::string_view title, const std::vector<Entry>& entries) {
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

std::string help_with_choices(const Parameter& parameter) {
  return parameter.choices.empty() ? parameter.help
                                   : fmt::format("{}: {}", parameter.help, fmt::join(parameter.choices, ", "));
}

std::string term_of(const Parameter& parameter) {
  if (parameter.is_option()) {
    return parameter.value.empty() ? parameter.name : parameter.name + ' ' + parameter.value;
  }
  std::string term = parameter.name + (parameter.is_list() ? "..." : "");
  return parameter.required ? term : '[' + term + ']';
}

std::vector<Entry> entries_of(const std::vector<Parameter>& parameters, bool options) {
  std::vector<Entry> entries;
  for (const auto& parameter : parameters) {
    if (parameter.is_option() == options) {
      entries.emplace_back(term_of(parameter), help_with_choices(parameter));
    }
  }
  return entries;
}

std::string common_options() {
  Globals globals;
  std::vector<Entry> entries = entries_of(common_parameters(globals), true);
  entries.emplace_back("--help", "show this help");
  return section("common options", entries);
}

std::string examples(const std::vector<std::string>& lines) {
  std::string result = lines.empty() ? "" : "\nexamples:\n";
  for (const auto& line : lines) {
    result += "  " + line + '\n';
  }
  return result;
}

}  // namespace

std::string help_text(const Registry& registry) {
  std::vector<Entry> commands;
  for (const auto& command : registry) {
    commands.emplace_back(command.name, command.summary);
  }
  return "usage: looseleaf COMMAND [OPTION...] [ARGUMENT...]\n\n"
         "Stores schema-free JSON entities and their indexes on sharded MySQL or MariaDB.\n" +
         section("commands", commands) + common_options() +
         examples({"export LOOSELEAF_CLUSTER=$(looseleaf sandbox start --shards 2)", "looseleaf init",
                   "echo '{\"user_id\": \"f48b0440ca0c4f66991c4d5f6a078eaf\"}' | looseleaf put",
                   "looseleaf create-index index_user_id.json --backfill",
                   "looseleaf query index_user_id user_id=f48b0440ca0c4f66991c4d5f6a078eaf"}) +
         "\n`looseleaf COMMAND --help` tells more; `looseleaf --version` prints the version.\n";
}

std::string help_text(const Command& command) {
  std::string usage = "usage: looseleaf " + command.name;
  const std::vector<Entry> options = entries_of(command.parameters, true);
  const std::vector<Entry> arguments = entries_of(command.parameters, false);
  usage += " [OPTION...]";
  for (const auto& [term, text] : arguments) {
    usage += ' ' + term;
  }
  std::string summary = command.summary + '.';
  summary.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(summary.front())));
  std::string details;
  for (const auto& paragraph : command.details) {
    details += '\n' + wrapped(paragraph, 0, text_width) + '\n';
  }
  return usage + "\n\n" + summary + '\n' + details + section("arguments", arguments) + section("options", options) +
         common_options() + examples(command.examples);
}

}  // namespace looseleaf::cli

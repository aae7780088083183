// Prints pages that are made from the registered commands: manual pages for scdoc, and tables of options in Markdown.
// Only the build and the tests run it.
// usage: looseleaf_pages manual COMMAND     the manual page of a command
//        looseleaf_pages fill TEMPLATE      a manual page with @VERSION@, @COMMANDS@, @COMMON@ and @FIRST_STEPS@
//        looseleaf_pages table NAME         the options of a command, the "common" ones, or those that "throttle" a job
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <looseleaf/jobs.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/throttle_options.hpp"
#include "cli/help.hpp"
#include "cli/registry/registry.hpp"

namespace looseleaf::cli {
namespace {

std::string with_backslash_before(std::string_view special, std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    escaped.append(special.find(c) == std::string_view::npos ? 0 : 1, '\\');
    escaped += c;
  }
  return escaped;
}

// Text for scdoc: what is in backticks becomes bold.
std::string scdoc(std::string_view text) {
  std::string result = with_backslash_before("\\*_#<~", text);
  std::replace(result.begin(), result.end(), '`', '*');
  return result;
}

std::string scdoc_term(const Parameter& parameter) {
  if (!parameter.is_option()) {
    return fmt::format("_{}_{}", parameter.name, parameter.is_list() ? "..." : "");
  }
  return fmt::format("*{}*{}", parameter.name, parameter.value.empty() ? "" : fmt::format(" _{}_", parameter.value));
}

std::string scdoc_synopsis(const Command& command) {
  std::string synopsis = fmt::format("*looseleaf {}* [_OPTION_...]", command.name);
  for (const auto& parameter : command.parameters) {
    if (!parameter.is_option()) {
      const std::string term = scdoc_term(parameter);
      synopsis += parameter.is_mandatory() ? ' ' + term : " [" + term + ']';
    }
  }
  return synopsis;
}

std::string scdoc_parameters(const std::vector<Parameter>& parameters, bool options) {
  std::string result;
  for (const auto& parameter : parameters) {
    if (parameter.is_option() == options) {
      result += fmt::format("{}\n\t{}\n\n", scdoc_term(parameter), scdoc(description_of(parameter)));
    }
  }
  return result;
}

std::string scdoc_common_options(const Command* command) {
  Globals globals;
  return scdoc_parameters(common_parameters_for(command, globals), true) +
         scdoc_parameters(help_parameters(command), true);
}

std::string scdoc_literal(std::string_view text) {
  return fmt::format("```\n{}\n```\n\n", with_backslash_before("\\", text));
}

std::string scdoc_section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format("# {}\n\n{}{}", title, text, text.ends_with("\n\n") ? "" : "\n\n");
}

std::string scdoc_see_also(const Command& command) {
  std::string pages = "*looseleaf*(1)";
  for (const auto& other : command.see_also) {
    const std::size_t section = other.find('(');
    pages += section == std::string::npos ? fmt::format(", *looseleaf-{}*(1)", other)
                                          : fmt::format(", *{}*{}", other.substr(0, section), other.substr(section));
  }
  return pages;
}

std::string manual_page(const Command& command) {
  std::string description = as_sentence(scdoc(command.summary));
  for (const auto& paragraph : command.details) {
    description += (&paragraph == &command.details.front() ? " " : "\n\n") + scdoc(paragraph);
  }
  std::string examples;
  for (const auto& [purpose, line] : command.examples) {
    examples += scdoc(purpose) + ":\n\n" + scdoc_literal(line);
  }
  return fmt::format("looseleaf-{}(1) \"looseleaf {}\" \"Looseleaf\"\n\n", command.name, LOOSELEAF_VERSION) +
         scdoc_section("NAME", fmt::format("looseleaf-{} - {}", command.name, scdoc(command.summary))) +
         scdoc_section("SYNOPSIS", scdoc_synopsis(command)) + scdoc_section("DESCRIPTION", description) +
         scdoc_section("ARGUMENTS", scdoc_parameters(command.parameters, false)) +
         scdoc_section("OPTIONS", scdoc_parameters(command.parameters, true)) +
         scdoc_section("COMMON OPTIONS", scdoc_common_options(&command)) +
         scdoc_section("EXIT STATUS", "The same for every command: see *looseleaf*(1).") +
         scdoc_section("EXAMPLES", examples) + scdoc_section("SEE ALSO", scdoc_see_also(command));
}

std::string scdoc_commands(const Registry& registry) {
  std::string result;
  for (const auto& command : registry) {
    result += fmt::format("*looseleaf-{}*(1)\n\t{}\n\n", command.name, as_sentence(scdoc(command.summary)));
  }
  for (const auto& built_in : built_ins()) {
    const std::string argument = built_in.argument.empty() ? "" : fmt::format(" [_{}_]", built_in.argument);
    result += fmt::format("*looseleaf {}*{}\n\t{}\n\n", built_in.name, argument, as_sentence(scdoc(built_in.summary)));
  }
  return result;
}

std::string scdoc_first_steps() {
  std::string lines;
  for (const auto& [purpose, line] : first_steps()) {
    lines += (lines.empty() ? "" : "\n") + line;
  }
  return scdoc_literal(lines);
}

std::string filled(const Registry& registry, const char* path) {
  std::ifstream file(path);
  std::string result;
  for (std::string line; std::getline(file, line);) {
    if (line == "@COMMANDS@") {
      result += scdoc_commands(registry);
    } else if (line == "@COMMON@") {
      result += scdoc_common_options(nullptr);
    } else if (line == "@FIRST_STEPS@") {
      result += scdoc_first_steps();
    } else {
      const std::size_t version = line.find("@VERSION@");
      result += (version == std::string::npos ? line : line.replace(version, 9, LOOSELEAF_VERSION)) + '\n';
    }
  }
  if (result.empty()) {
    throw std::runtime_error(fmt::format("cannot read {}", path));
  }
  return result;
}

std::vector<Parameter> throttle_parameters() {
  static Throttle throttle;
  Command command;
  add_throttle_parameters(command, throttle);
  return command.parameters;
}

std::string row(const std::string& term, const std::string& text) {
  return fmt::format("| {} | {} |\n", with_backslash_before("|", term), with_backslash_before("|", text));
}

// The options that throttle a job have a table of their own, to which the tables of commands lead.
std::string table_of(const std::vector<Parameter>& parameters, bool of_command) {
  const std::vector<Parameter> throttling = of_command ? throttle_parameters() : std::vector<Parameter>{};
  std::string rows, throttle_terms;
  for (const auto& parameter : parameters) {
    const std::string term = fmt::format("`{}`", term_of(parameter));
    if (std::any_of(throttling.begin(), throttling.end(),
                    [&](const auto& one) { return one.name == parameter.name; })) {
      throttle_terms += (throttle_terms.empty() ? "" : ", ") + term;
    } else if (parameter.is_option()) {
      rows += row(term, description_of(parameter));
    }
  }
  if (!throttle_terms.empty()) {
    rows += row(throttle_terms, "See [Holding a job back](#holding-a-job-back).");
  }
  return "| option | meaning |\n|---|---|\n" + rows;
}

const Command& find_command(const Registry& registry, std::string_view name) {
  const auto found =
      std::find_if(registry.begin(), registry.end(), [&](const Command& command) { return command.name == name; });
  if (found == registry.end()) {
    throw std::runtime_error(fmt::format("there is no command {}", name));
  }
  return *found;
}

std::string table(const Registry& registry, std::string_view name) {
  if (name == "common") {
    Globals globals;
    std::vector<Parameter> parameters = common_parameters(globals);
    const std::vector<Parameter> of_help = help_parameters(nullptr);
    parameters.insert(parameters.end(), of_help.begin(), of_help.end());
    return table_of(parameters, false);
  }
  return name == "throttle" ? table_of(throttle_parameters(), false)
                            : table_of(find_command(registry, name).parameters, true);
}

std::string page(std::string_view kind, const char* name) {
  const Registry registry = all_commands();
  if (kind == "manual") {
    return manual_page(find_command(registry, name));
  }
  if (kind == "fill") {
    return filled(registry, name);
  }
  if (kind == "table") {
    return table(registry, name);
  }
  throw std::runtime_error("usage: looseleaf_pages manual COMMAND | fill TEMPLATE | table NAME");
}

}  // namespace
}  // namespace looseleaf::cli

int main(int argc, char** argv) {
  try {
    std::cout << looseleaf::cli::page(argc == 3 ? argv[1] : "", argc == 3 ? argv[2] : "");
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "looseleaf_pages: " << error.what() << '\n';
    return 1;
  }
}

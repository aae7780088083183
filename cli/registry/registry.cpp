// The options that every command understands, and how parameters are written and described.
#include "cli/registry/registry.hpp"

#include <fmt/format.h>

#include <cctype>
#include <looseleaf/cluster.hpp>

namespace looseleaf::cli {

namespace {

std::vector<Parameter> all_common_parameters(Globals& globals) {
  return {
      {.name = "--cluster",
       .value = "FILE",
       .help = "the cluster file",
       .target = &globals.cluster,
       .for_store = true,
       .details = "Without it the program uses `$LOOSELEAF_CLUSTER`, else `./looseleaf.json`, else "
                  "`/etc/looseleaf/cluster.json`."},
      {.name = "--defaults-file",
       .value = "FILE",
       .help = "the option file with user and password",
       .target = &globals.defaults_file,
       .for_store = true,
       .details = "It replaces the usual option files and the one that the cluster file names."},
      {.name = "--ssl-mode",
       .value = "MODE",
       .help = "how connections are encrypted",
       .target = &globals.ssl_mode,
       .choices = {"disabled", "preferred", "required", "verify-ca", "verify-identity"},
       .for_store = true,
       .details = "It takes precedence over the cluster file and the option files."},
      {.name = "--output",
       .value = "FORMAT",
       .help = "the format of the output",
       .target = &globals.output,
       .choices = {"text", "json", "csv"},
       .details = "With `json`, standard output has JSON Lines with a summary object last, and standard error has each "
                  "error, warning and note as a JSON object on a line of its own. `csv` is for query, get and export "
                  "with `--fields`."},
      {.name = "--quiet",
       .help = "print no notes, no progress, and no ids of entities that are stored or deleted",
       .target = &globals.quiet,
       .details = "Always printed are errors and their end, warnings, and what a command was asked for: entities, "
                  "findings, tables, and where to continue (`next: TOKEN`, `position: POSITION`)."},
      {.name = "--verbose", .help = "print more notes", .target = &globals.verbose, .for_store = true},
      {.name = "--color",
       .value = "WHEN",
       .help = "colours in messages",
       .target = &globals.color,
       .choices = {"auto", "always", "never"},
       .details = "With `auto` messages have colours if standard error is a terminal, unless `NO_COLOR` is set or "
                  "`TERM` is `dumb`."},
      {.name = "--progress",
       .value = "WHEN",
       .help = "show the progress of a long job",
       .target = &globals.progress,
       .choices = {"auto", "off"},
       .for_store = true,
       .details = "With `auto` a terminal shows a line that is redrawn; elsewhere a line is printed now and then."},
      {.name = "--timeout",
       .value = "S",
       .help = "seconds for one operation with all its retries; default 30",
       .target = &globals.timeout,
       .for_store = true,
       .details =
           "It takes precedence over `$LOOSELEAF_TIMEOUT` and the cluster file. Connecting takes at most 5 s. If "
           "a shard does not answer within 2 s, the program prints a warning once."},
      {.name = "--max-connections",
       .value = "N",
       .help = "connections to each server at most; default 8",
       .target = &globals.max_connections,
       .range = {min_connections, most_connections},
       .for_store = true,
       .details = "It takes precedence over the cluster file. More connections let jobs work on more shards at once."},
  };
}

}  // namespace

std::vector<Parameter> common_parameters(Globals& globals, const Command* command) {
  std::vector<Parameter> parameters = all_common_parameters(globals);
  for (Parameter& parameter : parameters) {
    parameter.choices = choices_for(parameter, command);
  }
  return parameters;
}

std::vector<std::string> choices_for(const Parameter& parameter, const Command* command) {
  std::vector<std::string> choices = parameter.choices;
  if (parameter.name == "--output" && command != nullptr && !command->prints_csv) {
    std::erase(choices, "csv");
  }
  return choices;
}

std::vector<Parameter> common_parameters_for(const Command* command, Globals& globals) {
  std::vector<Parameter> parameters = common_parameters(globals, command);
  if (command != nullptr && !command->opens_store) {
    std::erase_if(parameters, [](const Parameter& parameter) { return parameter.for_store; });
  }
  return parameters;
}

std::vector<Parameter> help_parameters(const Command* command) {
  bool* const nowhere = nullptr;
  std::vector<Parameter> parameters = {
      {.name = "--help",
       .help = "print the full help",
       .target = nowhere,
       .details = "`--help` and `-h` may be anywhere on the line. The help is as wide as a terminal of 60 to 120 "
                  "columns."},
      {.name = "-h", .help = "print examples and a list of the options", .target = nowhere},
  };
  if (command == nullptr) {
    parameters.push_back({.name = "--version", .help = "print the version", .target = nowhere});
  }
  return parameters;
}

std::string term_of(const Parameter& parameter) {
  if (parameter.is_option()) {
    return parameter.value.empty() ? parameter.name : parameter.name + ' ' + parameter.value;
  }
  std::string term = parameter.name + (parameter.is_list() ? "..." : "");
  return parameter.is_mandatory() ? term : '[' + term + ']';
}

std::string usage_of(const Command& command) {
  std::string usage = fmt::format("looseleaf {} [OPTION...]", command.name);
  for (const auto& parameter : command.parameters) {
    if (!parameter.is_option()) {
      usage += ' ' + term_of(parameter);
    }
  }
  return usage;
}

std::string as_sentence(std::string text) {
  if (!text.empty()) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    text += '.';
  }
  return text;
}

std::string summary_of(const Parameter& parameter) {
  return as_sentence(parameter.choices.empty()
                         ? parameter.help
                         : fmt::format("{}: {}", parameter.help, fmt::join(parameter.choices, ", ")));
}

std::string description_of(const Parameter& parameter) {
  return summary_of(parameter) + (parameter.details.empty() ? "" : ' ' + parameter.details);
}

}  // namespace looseleaf::cli

// The commands as data. The parser, the help, the completions, the manual pages and the tables of options in
// docs/operations.md are made from it, so that every option is described once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/registry/exit_status.hpp"
#include "cli/registry/numbers.hpp"

namespace looseleaf::cli {

// The options that every command understands.
struct Globals {
  std::string cluster;
  std::string defaults_file;
  std::string ssl_mode;
  std::string output = "text";
  std::string color = "auto";
  std::string progress = "auto";
  std::optional<double> timeout;  // seconds
  std::optional<std::uint64_t> max_connections;
  bool quiet = false;
  bool verbose = false;

  [[nodiscard]] bool json() const { return output == "json"; }
  [[nodiscard]] bool csv() const { return output == "csv"; }
};

// Where a parsed value goes; what it points to keeps its value if the option is not given.
using Target = std::variant<bool*, std::string*, std::optional<std::string>*, std::uint64_t*,
                            std::optional<std::uint64_t>*, double*, std::optional<double>*, std::vector<std::string>*>;

struct Parameter {
  // "--limit", or the upper-case name of an argument.
  std::string name;
  // What stands for an option's value in the help; empty for flags and arguments. This, or an argument's name, also
  // says what completes it: FILE, DIR, INDEX, TABLE, COND (conditions on the index named first), ID.
  std::string value = {};
  std::string help;  // one sentence, without a capital letter and a full stop; `backticks` enclose literal text
  Target target;
  std::vector<std::string> choices = {};              // what the value may be; empty: anything
  bool required = false;                              // arguments only
  const std::vector<std::string>* instead = nullptr;  // what may be given instead of a required argument
  Range range = {};                                   // of a whole number
  bool for_store = false;    // of common options: has no effect on a command that opens no store
  std::string details = {};  // further sentences

  [[nodiscard]] bool is_mandatory() const { return required && instead == nullptr; }
  [[nodiscard]] bool is_option() const { return name.starts_with('-'); }
  [[nodiscard]] bool is_flag() const { return std::holds_alternative<bool*>(target); }
  [[nodiscard]] bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target); }
};

struct Example {
  std::string purpose;  // without a full stop
  std::string command;  // one or more lines; one that continues the line before is indented by two spaces
};

// One command. The targets must live as long as it does; `run` usually owns them.
struct Command {
  std::string name;
  std::string summary;  // one line, without a full stop
  std::vector<Parameter> parameters;
  std::vector<std::string> details;  // paragraphs; `backticks` enclose literal text
  std::vector<Example> examples;
  std::vector<std::string> see_also;  // other commands, or manual pages with their section: "looseleaf.json(5)"
  bool opens_store = true;
  bool prints_csv = false;  // takes --output csv
  std::function<ExitStatus(const Globals&)> run;
};

// The commands in the order in which the help lists them.
using Registry = std::vector<Command>;

// The common options, writing into `globals`. Every command takes all of them, but not all of their values.
[[nodiscard]] std::vector<Parameter> common_parameters(Globals& globals, const Command* command = nullptr);

// What the value of a parameter may be if it is given to this command; empty: anything.
[[nodiscard]] std::vector<std::string> choices_for(const Parameter& parameter, const Command* command);

// The common options that have an effect on the command; all of them without a command.
[[nodiscard]] std::vector<Parameter> common_parameters_for(const Command* command, Globals& globals);

// The options that print help or the version and run nothing. Their targets are null.
[[nodiscard]] std::vector<Parameter> help_parameters(const Command* command);

// "--limit N", "FILE...", "[TABLE...]": the parameter in a usage line.
[[nodiscard]] std::string term_of(const Parameter& parameter);

// "looseleaf get [OPTION...] ID..."
[[nodiscard]] std::string usage_of(const Command& command);

// The text with a capital letter and a full stop.
[[nodiscard]] std::string as_sentence(std::string text);

// What the parameter does, as a sentence that lists its choices; without its details.
[[nodiscard]] std::string summary_of(const Parameter& parameter);
// The same with its details.
[[nodiscard]] std::string description_of(const Parameter& parameter);

}  // namespace looseleaf::cli

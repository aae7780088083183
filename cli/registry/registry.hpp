// The commands as data: what the parser, the help and the completions are made from.
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
  double timeout = 30;  // seconds
  bool quiet = false;
  bool verbose = false;

  [[nodiscard]] bool json() const { return output == "json"; }
};

// Where a parsed value goes; what it points to keeps its value if the option is not given.
using Target = std::variant<bool*, std::string*, std::optional<std::string>*, std::uint64_t*,
                            std::optional<std::uint64_t>*, double*, std::vector<std::string>*>;

struct Parameter {
  // "--limit", or the upper-case name of an argument.
  std::string name;
  // What stands for an option's value in the help; empty for flags and arguments. This, or an argument's name, also
  // says what completes it: FILE, DIR, INDEX, TABLE, COND (conditions on the index named first), ID.
  std::string value;
  std::string help;
  Target target;
  std::vector<std::string> choices = {};  // what the value may be; empty: anything
  bool required = false;                  // arguments only
  Range range = {};                       // of a whole number
  bool for_store = false;                 // of common options: of no use to a command that opens no store

  [[nodiscard]] bool is_option() const { return name.starts_with('-'); }
  [[nodiscard]] bool is_flag() const { return std::holds_alternative<bool*>(target); }
  [[nodiscard]] bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target); }
};

// One command. The targets must live as long as it does; `run` usually owns them.
struct Command {
  std::string name;
  std::string summary;  // one line, without a full stop
  std::vector<Parameter> parameters;
  std::vector<std::string> details;  // paragraphs for the command's own help
  std::vector<std::string> examples;
  bool opens_store = true;
  std::function<ExitStatus(const Globals&)> run;
};

// The commands in the order in which the help lists them.
using Registry = std::vector<Command>;

// The common options, writing into `globals`. Every command takes all of them.
[[nodiscard]] std::vector<Parameter> common_parameters(Globals& globals);

// Those of them that are of use to the command, if there is one.
[[nodiscard]] std::vector<Parameter> common_parameters_for(const Command* command, Globals& globals);

}  // namespace looseleaf::cli

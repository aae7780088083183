// The parsed command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/help.hpp"
#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

struct Parsed {
  Globals globals;
  bool version = false;
  const Command* command = nullptr;      // absent if none was named
  const BuiltIn* built_in = nullptr;     // `help` or `version`, if one was named
  std::vector<std::string> help_topics;  // the arguments of `help`

  // The word that was given as the command; empty without one.
  [[nodiscard]] std::string_view name() const {
    return command != nullptr    ? std::string_view(command->name)
           : built_in != nullptr ? std::string_view(built_in->name)
                                 : std::string_view();
  }
};

// Fills in `parsed` and the targets of the command's parameters, and sets the style of messages. The registry outlives
// `parsed`. Throws Error(usage).
void parse(Parsed& parsed, const Registry& registry, int argc, const char* const* argv);

// Throws Error(usage) if a required argument of the command that was parsed is missing.
void check_required(const Command& command);
[[noreturn]] void refuse_unknown_command(const std::string& given, const Registry& registry);

// A hint that leads to the help of the command, or of the program if no command was named.
[[nodiscard]] std::string see_help(std::string_view command);
[[nodiscard]] bool wants_color(const Globals& globals);

}  // namespace looseleaf::cli

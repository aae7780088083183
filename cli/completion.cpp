// The candidates for the next word of a command line.
#include "cli/completion.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>

#include "cli/catalog_names.hpp"
#include "cli/help.hpp"
#include "cli/terminal/output.hpp"

namespace looseleaf::cli {
namespace {

// The state after the words before the one that is being typed.
struct Line {
  const Command* command = nullptr;
  bool help = false;                   // the command is `help`
  const Parameter* pending = nullptr;  // the option whose value is being typed
  std::vector<std::string> options, arguments;
  bool arguments_only = false;  // after --
};

class Reader {
 public:
  Reader(const Registry& registry, const std::vector<Parameter>& common) : registry_(registry), common_(common) {}

  // Absent if the word does not name an option.
  [[nodiscard]] const Parameter* option(const Line& line, std::string_view name) const {
    const std::vector<Parameter> none;
    for (const auto* parameters : {&common_, line.command != nullptr ? &line.command->parameters : &none}) {
      for (const auto& parameter : *parameters) {
        if (parameter.is_option() && parameter.name == name) {
          return &parameter;
        }
      }
    }
    return nullptr;
  }

  // False if the word should be a command but is not: then nothing can be completed.
  [[nodiscard]] bool read(Line& line, const std::string& word) const {
    if (line.pending != nullptr) {
      store(*std::exchange(line.pending, nullptr), word);
    } else if (!line.arguments_only && word == "--") {
      line.arguments_only = true;
    } else if (!line.arguments_only && word.starts_with("-") && word != "-") {
      read_option(line, word);
    } else if (line.command != nullptr || line.help) {
      line.arguments.push_back(word);
    } else if (word == "help") {
      line.help = true;
    } else {
      const auto found =
          std::find_if(registry_.begin(), registry_.end(), [&](const auto& c) { return c.name == word; });
      line.command = found != registry_.end() ? &*found : nullptr;
      return line.command != nullptr;
    }
    return true;
  }

 private:
  static void store(const Parameter& parameter, const std::string& value) {
    if (auto* const* text = std::get_if<std::string*>(&parameter.target)) {
      **text = value;
    }
  }

  void read_option(Line& line, const std::string& word) const {
    const std::size_t equals = word.find('=');
    const Parameter* const parameter = option(line, std::string_view(word).substr(0, equals));
    if (parameter == nullptr) {
      return;
    }
    line.options.push_back(parameter->name);
    if (equals != std::string::npos) {
      store(*parameter, word.substr(equals + 1));
    } else if (!parameter->is_flag()) {
      line.pending = parameter;
    }
  }

  const Registry& registry_;
  const std::vector<Parameter>& common_;
};

// The values of `parameter` that may complete `typed`; `lead` is the part of the word before the value.
Completion values_of(const Parameter& parameter, const Line& line, std::string lead, std::string_view typed) {
  Completion completion;
  const std::string& kind = parameter.is_option() ? parameter.value : parameter.name;
  for (const auto& choice : choices_for(parameter, line.command)) {
    completion.candidates.push_back({lead + choice, ""});
  }
  const std::string fixed = kind.substr(0, kind.find('=') + 1);  // of "junit=FILE"
  if (!typed.starts_with(fixed)) {
    completion.candidates.push_back({lead + fixed, parameter.help});
    return completion;
  }
  const std::string_view rest = std::string_view(kind).substr(fixed.size());
  if (rest == "FILE" || rest == "DIR") {
    completion.wanted = rest == "FILE" ? Wanted::files : Wanted::folders;
    completion.lead = std::move(lead) + fixed;
  } else if (rest == "INDEX" || rest == "TABLE") {
    completion.wanted = Wanted::indexes;
    completion.given = line.arguments;
  } else if (rest == "COND" && !parameter.is_option() && typed.find_first_of("=<>^") == std::string_view::npos) {
    completion.wanted = Wanted::properties;
    completion.index = line.arguments.empty() ? "" : line.arguments.front();
  } else if (rest == "ID" && line.arguments.empty()) {
    completion.candidates.push_back({"-", "read ids from standard input, one per line"});
  }
  return completion;
}

void add_options(Completion& completion, const Line& line, const std::vector<Parameter>& parameters) {
  for (const auto& parameter : parameters) {
    const bool given = std::find(line.options.begin(), line.options.end(), parameter.name) != line.options.end();
    if (parameter.is_option() && (parameter.is_list() || !given)) {
      completion.candidates.push_back({parameter.name, parameter.help});
    }
  }
}

Completion options_of(const Line& line, Globals& globals) {
  Completion completion;
  if (line.command != nullptr) {
    add_options(completion, line, line.command->parameters);
  }
  add_options(completion, line, common_parameters_for(line.command, globals));
  add_options(completion, line, help_parameters(line.command));
  return completion;
}

// The next argument; absent if the command takes no more.
const Parameter* next_argument(const Line& line) {
  std::size_t position = 0;
  for (const auto& parameter : line.command->parameters) {
    if (!parameter.is_option() && (parameter.is_list() || position++ == line.arguments.size())) {
      return &parameter;
    }
  }
  return nullptr;
}

// The commands, and the words that stand for one.
std::vector<Candidate> command_names(const Registry& registry) {
  std::vector<Candidate> names;
  for (const auto& command : registry) {
    names.push_back({command.name, command.summary});
  }
  for (const auto& built_in : built_ins()) {
    names.push_back({built_in.name, built_in.summary});
  }
  return names;
}

Completion words_of(const std::vector<Candidate>& candidates) {
  Completion completion;
  completion.candidates = candidates;
  return completion;
}

bool is_printable(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20U || c == 0x7FU; });
}

}  // namespace

Completion completion_of(const Registry& registry, const std::vector<std::string>& words, Globals& globals) {
  const std::vector<Parameter> common = common_parameters(globals);
  const Reader reader(registry, common);
  const std::string current = words.empty() ? "" : words.back();
  Line line;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!reader.read(line, words[i])) {
      return {};
    }
  }
  if (line.pending != nullptr) {
    return values_of(*line.pending, line, "", current);
  }
  const bool is_option = !line.arguments_only && current.starts_with("-");
  const std::size_t equals = current.find('=');
  if (is_option && equals != std::string::npos) {
    const Parameter* const option = reader.option(line, std::string_view(current).substr(0, equals));
    return option == nullptr || option->is_flag()
               ? Completion{}
               : values_of(*option, line, current.substr(0, equals + 1), std::string_view(current).substr(equals + 1));
  }
  if (is_option) {
    return options_of(line, globals);
  }
  if (line.command == nullptr) {
    return line.arguments.empty() ? words_of(command_names(registry)) : Completion{};
  }
  const Parameter* const argument = next_argument(line);
  return argument != nullptr ? values_of(*argument, line, "", current) : options_of(line, globals);
}

namespace {

void print_completion(const Registry& registry, const std::vector<std::string>& words) {
  Globals globals;
  Completion completion = completion_of(registry, words, globals);
  if (completion.wanted == Wanted::indexes || completion.wanted == Wanted::properties) {
    completion = words_of(completion.wanted == Wanted::indexes ? index_names(globals, completion.given)
                                                               : property_names(globals, completion.index));
  }
  const bool words_wanted = completion.wanted == Wanted::words;
  print_line(fmt::format("{}\t{}",
                         words_wanted                         ? "words"
                         : completion.wanted == Wanted::files ? "files"
                                                              : "folders",
                         completion.lead));
  for (const auto& [text, description] : completion.candidates) {
    if (is_printable(text)) {
      print_line(fmt::format("{}\t{}", text, description));
    }
  }
}

}  // namespace

void answer_completion(const Registry& registry, const std::vector<std::string>& words) {
  try {
    print_completion(registry, words);
    static_cast<void>(data_output().flush());
  } catch (const std::exception&) {  // nothing is offered
  }
  ::_exit(0);  // exit() could hang, because threads may still wait for servers
}

}  // namespace looseleaf::cli

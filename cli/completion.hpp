// The candidates for the next word of a command line, made from the registered commands.
#pragma once

#include <string>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

struct Candidate {
  std::string text;         // the whole word
  std::string description;  // may be empty

  bool operator==(const Candidate&) const = default;
};

enum class Wanted { words, files, folders, indexes, properties };

struct Completion {
  Wanted wanted = Wanted::words;
  std::string lead;                     // for files and folders: the part of the word before the name, "--cluster="
  std::vector<Candidate> candidates;    // for words
  std::string index;                    // for properties: the index that has them
  std::vector<std::string> given = {};  // for indexes: those that are already on the line
};

// `words` are the words after the program's name. The last one is to be completed and may be empty. The values of
// common options go into `globals`. No server is asked, and the candidates are not filtered by the beginning of the
// word.
[[nodiscard]] Completion completion_of(const Registry& registry, const std::vector<std::string>& words,
                                       Globals& globals);

// Prints the answer to the shells' completions. The format is an interface: the first line has the kind (words, files
// or folders), a tab and the lead. For words, a line with the candidate, a tab and its description follows for each; a
// candidate that ends with = is not complete. Index and property names come from the first shard that answers within
// 300 ms. Ends the process with status 0, and without a message if something failed.
[[noreturn]] void answer_completion(const Registry& registry, const std::vector<std::string>& words);

}  // namespace looseleaf::cli

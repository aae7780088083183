// What may come next on a command line that is being typed, made from the registered commands.
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
  std::string lead;                     // of files and folders: what of the word stands before the name, "--cluster="
  std::vector<Candidate> candidates;    // of words
  std::string index;                    // of properties: whose
  std::vector<std::string> given = {};  // of indexes: those that the line names already
};

// `words` is what was typed after the program's name; the last one is to be completed and may be empty. The values of
// common options among them go into `globals`. Asks nobody; candidates are not filtered by what the word begins with.
[[nodiscard]] Completion completion_of(const Registry& registry, const std::vector<std::string>& words,
                                       Globals& globals);

// Prints the answer to the shells' completions, for which it is an interface: a line of the kind (words, files or
// folders), a tab and the lead, then for words each candidate, a tab and its description; a candidate that ends with =
// goes on. Index and property names are those of the first shard that answers within 300 ms, none if none does.
// Ends the process, with status 0 and without a word whatever went wrong.
[[noreturn]] void answer_completion(const Registry& registry, const std::vector<std::string>& words);

}  // namespace looseleaf::cli

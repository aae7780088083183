// Reports what indexes hold of the entities.
#pragma once

#include <looseleaf/indexing.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/terminal/json.hpp"

namespace looseleaf::cli {

struct IndexingReport {
  bool only_warnings = false;  // the counts are printed elsewhere
  bool planned = false;        // the indexes do not exist, and the counts are those of a sample
};

// Prints, for each index, how many entities have rows and why the others have none, unless all have. Warns of
// definitions that are likely to be mistakes.
void print_indexing(const std::map<std::string, IndexingCounts>& indexing, const IndexingReport& report);

// The same as an array of objects, for a summary.
[[nodiscard]] Json json_of(const std::map<std::string, IndexingCounts>& indexing);
// The same of one index as lines of text.
[[nodiscard]] std::vector<std::string> lines_of(const std::string& index, const IndexingCounts& counts);

}  // namespace looseleaf::cli

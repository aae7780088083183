// Names from the catalog, for completions: quickly or not at all.
#pragma once

#include <string>
#include <vector>

#include "cli/completion.hpp"
#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// The indexes in force, each with its state and properties, without those in `given`. As the first shard that answers
// within 300 ms (or $LOOSELEAF_COMPLETION_TIMEOUT seconds) has them; none if none does, or if there is no cluster file
// that can be used. Connections that were begun may go on in the background: the process should end soon.
[[nodiscard]] std::vector<Candidate> index_names(const Globals& globals, const std::vector<std::string>& given);

// The same for the properties of one index, in key order, as the beginnings of conditions ("user_id=").
[[nodiscard]] std::vector<Candidate> property_names(const Globals& globals, const std::string& index);

}  // namespace looseleaf::cli

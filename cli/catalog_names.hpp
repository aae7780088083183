// Names from the catalog, for completions. If no shard answers quickly, there are none.
#pragma once

#include <string>
#include <vector>

#include "cli/completion.hpp"
#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// The active indexes, each with its state and properties, except those in `given`. They come from the first shard that
// answers within 300 ms (or $LOOSELEAF_COMPLETION_TIMEOUT seconds). Empty if no shard answers or no cluster file can be
// used. Threads may still wait for connections afterwards, so the process should end soon.
[[nodiscard]] std::vector<Candidate> index_names(const Globals& globals, const std::vector<std::string>& given);

// The properties of one index, in key order, as the beginnings of conditions ("user_id="). Empty as above.
[[nodiscard]] std::vector<Candidate> property_names(const Globals& globals, const std::string& index);

}  // namespace looseleaf::cli

// Files in memory, as the standard streams of other programs: neither side ever waits for the other.
#pragma once

#include <string_view>

#include "cli/files/descriptor.hpp"

namespace looseleaf::cli {

// Returns a file that holds `bytes`, at its beginning. `name` is for the system only. Throws Error(io).
[[nodiscard]] Descriptor memory_file(const char* name, std::string_view bytes = {});

}  // namespace looseleaf::cli

// Whether a shard takes writes, as text.
#pragma once

#include <looseleaf/status.hpp>
#include <string>

namespace looseleaf::shard {

// Throws Error(corrupt) for anything else.
[[nodiscard]] AccessState parse_access_state(const std::string& text);

}  // namespace looseleaf::shard

// Whether a shard takes writes.
#pragma once

#include <string>

namespace looseleaf::shard {

enum class AccessState {
  open,
  frozen,
  moving,  // somebody is about to move the store, so writers wait
  moved,
};

[[nodiscard]] std::string to_string(AccessState state);
// Throws Error(corrupt) for anything else.
[[nodiscard]] AccessState parse_access_state(const std::string& text);

}  // namespace looseleaf::shard

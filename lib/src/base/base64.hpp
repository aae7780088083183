// base64url without padding (RFC 4648, section 5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace looseleaf::base {

[[nodiscard]] std::string to_base64url(std::string_view bytes);
// Decodes a text; absent if to_base64url() cannot have returned it.
[[nodiscard]] std::optional<std::string> from_base64url(std::string_view text);

}  // namespace looseleaf::base

// Small text helpers that more than one layer needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace looseleaf::base {

// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/).
[[nodiscard]] std::uint64_t fnv1a(std::string_view text);

// The prefix of a valid UTF-8 text that has at most `code_points` code points.
[[nodiscard]] std::string_view utf8_prefix(std::string_view text, std::size_t code_points);

// Is this UTF-8 without overlong forms, surrogates or anything beyond U+10FFFF?
[[nodiscard]] bool is_utf8(std::string_view text);

// Code points of a valid UTF-8 text.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

// Has a valid UTF-8 text a character beyond U+FFFF? Names on a server must not.
[[nodiscard]] bool beyond_bmp(std::string_view text);

// The smallest text greater than every text that starts with this one, by code points; absent if there is none.
[[nodiscard]] std::optional<std::string> utf8_successor(std::string_view text);

// The first bytes of a stream, at most so many. Throws std::ios::failure if it cannot be read.
[[nodiscard]] std::string read_at_most(std::istream& in, std::size_t bytes);

[[nodiscard]] std::string ascii_lower(std::string_view text);

}  // namespace looseleaf::base

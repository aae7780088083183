// Small text helpers that more than one layer needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

namespace looseleaf::base {

// Returns the 64-bit FNV-1a hash (http://www.isthe.com/chongo/tech/comp/fnv/).
[[nodiscard]] std::uint64_t fnv1a(std::string_view text);

// Returns the longest prefix of a valid UTF-8 text with at most `code_points` code points.
[[nodiscard]] std::string_view utf8_prefix(std::string_view text, std::size_t code_points);

// True if the text is UTF-8 without overlong forms, surrogates and code points beyond U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

// Returns the number of code points of a valid UTF-8 text.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

// True if a valid UTF-8 text has a character beyond U+FFFF. Servers do not allow them in names.
[[nodiscard]] bool beyond_bmp(std::string_view text);

// Returns the smallest text that is greater than all texts with this prefix, by code points; absent if there is none.
[[nodiscard]] std::optional<std::string> utf8_successor(std::string_view text);

// Reads at most `bytes` bytes from a stream. Throws std::ios::failure if it cannot be read.
[[nodiscard]] std::string read_at_most(std::istream& in, std::size_t bytes);

[[nodiscard]] char ascii_lower(char c);
[[nodiscard]] std::string ascii_lower(std::string_view text);

inline constexpr std::string_view json_white_space = " \t\r\n";  // RFC 8259, section 2

// Returns the text without these characters at its beginning and end.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view characters = json_white_space);

// Returns the text as one word of a POSIX shell: in single quotes, if it needs them.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace looseleaf::base

// Pure functions on text: escaping for XML, one-line JSON, numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::cli {

// Escapes a text for character data or attributes in XML. Characters that XML 1.0 forbids, and bytes that are not
// UTF-8, become U+FFFD.
[[nodiscard]] std::string escape_xml(std::string_view text);

// If the JSON text contains a line break, removes the white space outside strings.
[[nodiscard]] std::string on_one_line(std::string_view json);

// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t number);

// "12 entities", "1 entity".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural);

// "12 entities", "12 entities (3 deleted)".
[[nodiscard]] std::string counted_with_deleted(std::uint64_t entities, std::uint64_t deleted);

// "0, 1, 5".
[[nodiscard]] std::string comma_separated(const std::vector<std::uint32_t>& numbers);

}  // namespace looseleaf::cli

// Pure functions on text: escaping for XML, one-line JSON, numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::cli {

// As character data or an attribute's value in XML. What XML 1.0 cannot hold, and what is not UTF-8, becomes U+FFFD.
[[nodiscard]] std::string escape_xml(std::string_view text);

// The JSON text without white space outside strings if it contains a line break, else as it is.
[[nodiscard]] std::string on_one_line(std::string_view json);

// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t number);

// "12 entities", "1 entity".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural);

// "0, 1, 5".
[[nodiscard]] std::string comma_separated(const std::vector<std::uint32_t>& numbers);

}  // namespace looseleaf::cli

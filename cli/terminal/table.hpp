// Aligned tables.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace looseleaf::cli {

struct Column {
  std::string title;
  bool right = false;  // aligned to the right, as numbers are
};

using TableRows = std::vector<std::vector<std::string>>;

// Formats a line of titles and the rows, with cells two spaces apart, without trailing spaces and line breaks. With a
// `width`, cells are wrapped so that lines fit, text before numbers, unless columns would become unreadably narrow.
[[nodiscard]] std::vector<std::string> format_table(const std::vector<Column>& columns, const TableRows& rows,
                                                    std::optional<std::size_t> width = std::nullopt);

// Prints a table to standard output. On a terminal it fits the window.
void print_table(const std::vector<Column>& columns, TableRows rows);

}  // namespace looseleaf::cli

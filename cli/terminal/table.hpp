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

// Lines of cells two spaces apart, a line of titles first; no trailing spaces, no line ends. Given a `width`, cells go
// on in further lines, text before numbers, so that none is longer, unless columns would become too narrow to be read.
[[nodiscard]] std::vector<std::string> format_table(const std::vector<Column>& columns, const TableRows& rows,
                                                    std::optional<std::size_t> width = std::nullopt);

// On standard output; as wide as that is, if it is a terminal.
void print_table(const std::vector<Column>& columns, TableRows rows);

}  // namespace looseleaf::cli

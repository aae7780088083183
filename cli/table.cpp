// Aligned tables.
#include "cli/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "cli/output.hpp"
#include "cli/terminal.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t narrowest = 10;  // that a column is made
constexpr std::string_view gap = "  ";

using Widths = std::vector<std::size_t>;

Widths natural_widths(const std::vector<Column>& columns, const TableRows& rows) {
  Widths widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = width_of(columns[i].title);
    for (const auto& row : rows) {
      width = std::max(width, width_of(row.at(i)));
    }
    widths.push_back(width);
  }
  return widths;
}

// Takes from whichever column of text is the widest, until all fit or none can be narrower.
void narrow(Widths& widths, const std::vector<Column>& columns, std::size_t width) {
  std::size_t total = std::accumulate(widths.begin(), widths.end(), gap.size() * (widths.size() - 1));
  while (total > width) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!columns[i].right && widths[i] > narrowest && (widest == nullptr || widths[i] > *widest)) {
        widest = &widths[i];
      }
    }
    if (widest == nullptr) {
      return;
    }
    --*widest;
    --total;
  }
}

// The cell's lines: broken after a space if there is one, else wherever it must be.
std::vector<std::string> wrapped(std::string_view cell, std::size_t width) {
  std::vector<std::string> lines;
  while (width_of(cell) > width) {
    std::string_view line = beginning_of_width(cell, width);
    const std::size_t space = cell.substr(0, line.size() + 1).rfind(' ');
    if (space != std::string_view::npos && space > 0) {
      lines.emplace_back(cell.substr(0, space));
      cell.remove_prefix(space + 1);
    } else {
      line = line.empty() ? cell.substr(0, 1) : line;
      lines.emplace_back(line);
      cell.remove_prefix(line.size());
    }
  }
  lines.emplace_back(cell);
  return lines;
}

void append_row(std::vector<std::string>& lines, const std::vector<Column>& columns, const Widths& widths,
                const std::vector<std::string>& cells) {
  std::vector<std::vector<std::string>> parts;
  std::size_t height = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    parts.push_back(wrapped(cells.at(i), widths[i]));
    height = std::max(height, parts.back().size());
  }
  for (std::size_t at = 0; at < height; ++at) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string part = at < parts[i].size() ? parts[i][at] : "";
      const std::string padding(widths[i] - std::min(widths[i], width_of(part)), ' ');
      line += i == 0 ? std::string_view() : gap;
      line += columns[i].right ? padding + part : part + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
}

}  // namespace

std::vector<std::string> format_table(const std::vector<Column>& columns, const TableRows& rows,
                                      std::optional<std::size_t> width) {
  Widths widths = natural_widths(columns, rows);
  if (width) {
    narrow(widths, columns, *width);
  }
  std::vector<std::string> titles;
  std::transform(columns.begin(), columns.end(), std::back_inserter(titles),
                 [](const Column& column) { return column.title; });
  std::vector<std::string> lines;
  append_row(lines, columns, widths, titles);
  for (const auto& row : rows) {
    append_row(lines, columns, widths, row);
  }
  return lines;
}

void print_table(const std::vector<Column>& columns, TableRows rows) {
  std::optional<std::size_t> width;
  if (::isatty(STDOUT_FILENO) == 1) {
    width = terminal_size(STDOUT_FILENO).columns;
    for (auto& row : rows) {  // before widths are taken; print_line finds nothing more to escape
      std::transform(row.begin(), row.end(), row.begin(),
                     [](const std::string& cell) { return escape_controls(cell); });
    }
  }
  for (const auto& line : format_table(columns, rows, width)) {
    print_line(line);
  }
}

}  // namespace looseleaf::cli

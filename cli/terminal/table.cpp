// Formats and prints aligned tables.
#include "cli/terminal/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string_view>

#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"

namespace looseleaf::cli {
namespace {

// Limits for narrowing columns, from the most readable to those for small windows.
struct Squeeze {
  std::size_t gap;        // spaces between two columns
  std::size_t narrowest;  // width of a column of text
  bool numbers;           // whether numbers may be broken, too
};
constexpr std::size_t as_it_is = std::numeric_limits<std::size_t>::max();
constexpr std::array<Squeeze, 5> squeezes{
    {{2, as_it_is, false}, {2, 10, false}, {1, 10, false}, {1, 5, false}, {1, 5, true}}};

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

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    longest = std::max(longest, width_of(word));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return longest;
}

// The title of a column of numbers may be wrapped. The numbers themselves are wrapped only as a last resort.
std::size_t least_width(const std::vector<Column>& columns, const TableRows& rows, std::size_t i,
                        const Squeeze& squeeze) {
  if (!columns[i].right || squeeze.numbers) {
    return squeeze.narrowest;
  }
  std::size_t least = longest_word(columns[i].title);
  for (const auto& row : rows) {
    least = std::max(least, width_of(row.at(i)));
  }
  return least;
}

// Narrows the widest column again and again, each down to its minimum. False if the table still does not fit.
bool narrow(Widths& widths, const Widths& least, std::size_t gap, std::size_t width) {
  std::size_t total = std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
  while (total > width) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] > least[i] && (widest == nullptr || widths[i] > *widest)) {
        widest = &widths[i];
      }
    }
    if (widest == nullptr) {
      return false;
    }
    --*widest;
    --total;
  }
  return true;
}

struct Layout {
  Widths widths;
  std::size_t gap = squeezes.front().gap;
};

Layout layout_of(const std::vector<Column>& columns, const TableRows& rows, std::optional<std::size_t> width) {
  Layout layout{natural_widths(columns, rows)};
  if (!width) {
    return layout;
  }
  for (const Squeeze& squeeze : squeezes) {
    layout = {natural_widths(columns, rows), squeeze.gap};
    Widths least;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      least.push_back(least_width(columns, rows, i, squeeze));
    }
    if (narrow(layout.widths, least, squeeze.gap, *width)) {
      break;
    }
  }
  return layout;
}

// Wraps a cell: at a space if there is one, else anywhere.
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

void append_row(std::vector<std::string>& lines, const std::vector<Column>& columns, const Layout& layout,
                const std::vector<std::string>& cells) {
  const Widths& widths = layout.widths;
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
      line.append(i == 0 ? 0 : layout.gap, ' ');
      line += columns[i].right ? padding + part : part + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
}

}  // namespace

std::vector<std::string> format_table(const std::vector<Column>& columns, const TableRows& rows,
                                      std::optional<std::size_t> width) {
  const Layout layout = layout_of(columns, rows, width);
  std::vector<std::string> titles;
  std::transform(columns.begin(), columns.end(), std::back_inserter(titles),
                 [](const Column& column) { return column.title; });
  std::vector<std::string> lines;
  append_row(lines, columns, layout, titles);
  for (const auto& row : rows) {
    append_row(lines, columns, layout, row);
  }
  return lines;
}

void print_table(const std::vector<Column>& columns, TableRows rows) {
  std::optional<std::size_t> width;
  if (::isatty(STDOUT_FILENO) == 1) {
    width = terminal_size(STDOUT_FILENO).columns;
    for (auto& row : rows) {  // before widths are computed; print_line then has nothing to escape
      std::transform(row.begin(), row.end(), row.begin(),
                     [](const std::string& cell) { return escape_controls(cell); });
    }
  }
  for (const auto& line : format_table(columns, rows, width)) {
    print_line(line);
  }
}

}  // namespace looseleaf::cli

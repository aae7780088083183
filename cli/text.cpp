// Escaping, one-line JSON and tables.
#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/json.hpp"

namespace looseleaf::cli {
namespace {

// Displayed width, taken as the number of code points.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string escape_controls(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xC2U && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0U &&
                    static_cast<unsigned char>(text[i + 1]) >= 0x80U;
    if (c1) {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[++i]));
    } else if (byte < 0x20U || byte == 0x7FU) {
      escaped += fmt::format("\\u{:04x}", byte);
    } else {
      escaped += text[i];
    }
  }
  return escaped;
}

std::string escape_xml(std::string_view text) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  const auto replace = Json::error_handler_t::replace;
  const std::string utf8 = Json::parse(Json(text).dump(-1, ' ', false, replace)).get<std::string>();
  std::string escaped;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const char c = utf8[i];
    const std::string_view three = std::string_view(utf8).substr(i, 3);
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (three == "\xEF\xBF\xBE" || three == "\xEF\xBF\xBF") {
      escaped += replacement;
      i += 2;
    } else if (static_cast<unsigned char>(c) < 0x20U && c != '\n' && c != '\t') {
      escaped += replacement;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string on_one_line(std::string_view json) {
  if (json.find_first_of("\n\r") == std::string_view::npos) {
    return std::string(json);
  }
  std::string line;
  line.reserve(json.size());
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\' && i + 1 < json.size()) {
      line += c;
      line += json[++i];
      continue;
    }
    if (c == '"') {
      in_string = !in_string;
    }
    if (in_string || (c != ' ' && c != '\t' && c != '\n' && c != '\r')) {
      line += c;
    }
  }
  return line;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t from_right = 3; from_right < digits.size(); from_right += 4) {
    digits.insert(digits.size() - from_right, 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural) {
  return fmt::format("{} {}", grouped(number), number == 1 ? singular : plural);
}

std::string comma_separated(const std::vector<std::uint32_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::vector<std::string> format_table(const std::vector<Column>& columns,
                                      const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = width_of(columns[i].title);
    for (const auto& row : rows) {
      width = std::max(width, width_of(row.at(i)));
    }
    widths.push_back(width);
    titles.push_back(columns[i].title);
  }
  const auto format_row = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string padding(widths[i] - width_of(cells[i]), ' ');
      line += i == 0 ? "" : "  ";
      line += columns[i].right ? padding + cells[i] : cells[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  std::vector<std::string> lines{format_row(titles)};
  std::transform(rows.begin(), rows.end(), std::back_inserter(lines), format_row);
  return lines;
}

}  // namespace looseleaf::cli

// Escaping, one-line JSON and numbers.
#include "cli/terminal/text.hpp"

#include <fmt/format.h>

#include "cli/terminal/json.hpp"

namespace looseleaf::cli {
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
  if (json.find('\n') == std::string_view::npos && json.find('\r') == std::string_view::npos) {
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

std::string counted_with_deleted(std::uint64_t entities, std::uint64_t deleted) {
  return counted(entities, "entity", "entities") + (deleted == 0 ? "" : fmt::format(" ({} deleted)", grouped(deleted)));
}

std::string comma_separated(const std::vector<std::uint32_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

}  // namespace looseleaf::cli

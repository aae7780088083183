// SQL text for identifiers and values.
#include "sql/literals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <looseleaf/error.hpp>

#include "base/hex.hpp"
#include "sql/reserved_words.hpp"

namespace looseleaf::sql {
namespace {

static_assert(std::is_sorted(reserved_words.begin(), reserved_words.end()));

bool is_plain(std::string_view name) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto plain = [&](char c) { return (c >= 'a' && c <= 'z') || c == '_' || digit(c); };
  return !name.empty() && !digit(name.front()) && std::all_of(name.begin(), name.end(), plain);
}

}  // namespace

std::string quote_identifier(std::string_view name) {
  if (is_plain(name) && !std::binary_search(reserved_words.begin(), reserved_words.end(), name)) {
    return std::string(name);
  }
  std::string out = "`";
  for (const char c : name) {
    if (c == '`') {
      out += '`';
    }
    out += c;
  }
  out += '`';
  return out;
}

void append_bytes_literal(std::string& out, std::string_view bytes) {
  if (bytes.empty()) {
    out += "''";
    return;
  }
  out += "x'";
  base::append_hex(out, bytes);
  out += '\'';
}

std::string qualified(std::string_view database, std::string_view table) {
  return quote_identifier(database) + "." + quote_identifier(table);
}

std::string bytes_literal(std::string_view bytes) {
  std::string out;
  append_bytes_literal(out, bytes);
  return out;
}

std::string text_literal(std::string_view utf8) {
  std::string out = "_utf8mb4 ";
  append_bytes_literal(out, utf8);
  return out;
}

std::string integer_literal(std::int64_t value) {
  return fmt::format("{}", value);
}

std::string double_literal(double value) {
  if (!std::isfinite(value)) {
    throw Error(ErrorCode::usage, "a number that is not finite cannot be written in SQL");
  }
  std::string out = fmt::format("{}", value == 0 ? 0.0 : value);
  if (out.find('e') == std::string::npos) {
    out += "e0";
  }
  return out;
}

std::string stamp_literal(base::Stamp stamp) {
  return fmt::format("'{}'", base::to_string(stamp));
}

}  // namespace looseleaf::sql

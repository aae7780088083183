#include "sql/result.hpp"

#include <charconv>
#include <looseleaf/error.hpp>
#include <system_error>

namespace looseleaf::sql {
namespace {

template <typename Number>
Number parse_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorCode::corrupt, "a column does not hold a whole number");
  }
  return number;
}

}  // namespace

NamedTexts to_named_texts(Result result) {
  NamedTexts rows;
  for (std::size_t row = 0; row < result.size(); ++row) {
    std::string name = result.take(row, 0);
    rows.emplace_back(std::move(name), result.take(row, 1));
  }
  return rows;
}

const std::string& Result::text(std::size_t row, std::size_t column) const {
  const auto& value = cell(row, column);
  if (!value) {
    throw Error(ErrorCode::corrupt, "a column that cannot be null is null");
  }
  return *value;
}

std::uint64_t Result::unsigned_integer(std::size_t row, std::size_t column) const {
  return parse_number<std::uint64_t>(text(row, column));
}

std::int64_t Result::integer(std::size_t row, std::size_t column) const {
  return parse_number<std::int64_t>(text(row, column));
}

std::string Result::take(std::size_t row, std::size_t column) {
  static_cast<void>(text(row, column));
  return std::move(*cells_[row * columns_ + column]);
}

}  // namespace looseleaf::sql

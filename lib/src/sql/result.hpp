// The rows that a query has returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf::sql {

// Names and values that a query has returned.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// The rows of a SELECT. All rows are fetched at once, so limit them with LIMIT. If the connection is lost, that is an
// error and never looks like the end of the rows.
class Result {
 public:
  Result(std::vector<std::optional<std::string>> cells, std::size_t columns)
      : cells_(std::move(cells)), columns_(columns) {}

  [[nodiscard]] std::size_t size() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] bool empty() const { return cells_.empty(); }
  // Returns a cell; absent for NULL. BINARY and BLOB values are bytes; all others are the server's text.
  [[nodiscard]] const std::optional<std::string>& cell(std::size_t row, std::size_t column) const {
    return cells_.at(row * columns_ + column);
  }
  // Returns a cell of a NOT NULL column. Throws Error(corrupt) on NULL.
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::uint64_t unsigned_integer(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::int64_t integer(std::size_t row, std::size_t column) const;
  // Moves a cell out of the result.
  [[nodiscard]] std::string take(std::size_t row, std::size_t column);

 private:
  std::vector<std::optional<std::string>> cells_;
  std::size_t columns_;
};

// Converts a result with two columns.
[[nodiscard]] NamedTexts to_named_texts(Result result);

}  // namespace looseleaf::sql

// Reads the rows of a statement from the connector.
#include "sql/fetch.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf::sql {
namespace {

constexpr int cr_out_of_memory = 2008;  // the client library's own error

std::string text_of(const ::sql::ResultSet& rows, unsigned column) {
  const ::sql::SQLString value = rows.getString(column);
  return {value.c_str(), value.length()};
}

// Fetches the rows that a statement has announced; `to_text` reads each cell. If memory runs out, the client library
// loses the rows without reporting an error, and `rows` is null.
template <typename ToText>
Result fetch(std::unique_ptr<::sql::ResultSet> rows, const ToText& to_text) {
  if (!rows) {
    throw ::sql::SQLException("no rows came", "HY000", cr_out_of_memory);
  }
  const auto columns = rows->getMetaData()->getColumnCount();
  std::vector<std::optional<std::string>> cells;
  cells.reserve(rows->rowsCount() * columns);
  while (rows->next()) {
    for (unsigned column = 1; column <= columns; ++column) {
      if (rows->isNull(column)) {
        cells.emplace_back();
      } else {
        cells.emplace_back(to_text(*rows, column));
      }
    }
  }
  return {std::move(cells), columns};
}

}  // namespace

Result fetch(::sql::Statement& statement, bool announced) {
  return fetch(std::unique_ptr<::sql::ResultSet>(announced ? statement.getResultSet() : nullptr), text_of);
}

// Numbers and times come in binary form. The connector formats some of them differently from a server, so they are
// formatted here.
Result fetch(::sql::PreparedStatement& statement) {
  std::unique_ptr<::sql::ResultSet> rows(statement.executeQuery());
  std::vector<int> types;
  for (unsigned column = 1; rows && column <= rows->getMetaData()->getColumnCount(); ++column) {
    types.push_back(rows->getMetaData()->getColumnType(column));
  }
  return fetch(std::move(rows), [&](const ::sql::ResultSet& row, unsigned column) {
    if (types[column - 1] == ::sql::DataType::DOUBLE) {
      return fmt::format("{}", static_cast<double>(row.getDouble(column)));
    }
    std::string text = text_of(row, column);
    if (types[column - 1] == ::sql::DataType::TIMESTAMP && text.find('.') == std::string::npos) {
      text += ".000000";
    }
    return text;
  });
}

}  // namespace looseleaf::sql

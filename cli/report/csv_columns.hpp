// Makes entities of the records of CSV: the header names the columns, --types says what is in them.
#pragma once

#include <cstddef>
#include <looseleaf/error.hpp>
#include <looseleaf/key.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/files/csv_reader.hpp"

namespace looseleaf::cli {

enum class ColumnType { string, uuid, integer, real, boolean, json };

// By column name. A column without a type has strings; `id` has UUIDs.
using ColumnTypes = std::map<std::string, ColumnType>;

// Reads the value of --types: "a=int,b=json". Throws Error(usage).
[[nodiscard]] ColumnTypes parse_column_types(std::string_view text);

// The columns of an input. A name with dots is a path: "a.b" is the member b of the object a.
class CsvColumns {
 public:
  // Throws Error(bad_entity) for a header that cannot name columns, and Error(usage) if a type's column is missing.
  CsvColumns(const CsvRecord& header, const ColumnTypes& types);

  // Throws Error(usage) if no column can have one of the key's properties.
  void require(const Key& key) const;

  // The name of a column that is a number: then the input may lack a header. Years are columns of some tables.
  [[nodiscard]] std::optional<std::string> column_like_a_value() const;

  // Why a record is no entity. The context names the column.
  struct Reject {
    std::string what;
    Position position;
    Error::Context context;
    std::string hint;
  };
  // Returns the entity as JSON on one line; empty if the record has no value at all. Throws Reject.
  [[nodiscard]] std::string to_json(const CsvRecord& record) const;

  // A line in a file of rejects. Such a file has a column id in any case, because an entity whose outcome is unknown
  // must be put again with the id that it was given.
  struct RejectLine {
    std::string text;
    std::optional<std::size_t> id_at = {};  // where an id must be inserted; absent: the record has one
  };
  [[nodiscard]] std::string rejects_header() const;
  [[nodiscard]] RejectLine reject_line(const CsvRecord& record) const;

 private:
  struct Column {
    std::string name;
    ColumnType type = ColumnType::string;
  };
  // The members of an object, in the order of their first columns.
  struct Node {
    std::vector<std::pair<std::string, Node>> members;
    std::optional<std::size_t> column;
  };
  using Values = std::vector<std::optional<std::string>>;  // by column, as JSON

  void add_column(const CsvCell& cell, const ColumnTypes& types);
  void add_path(const CsvCell& cell);
  [[nodiscard]] static std::optional<std::string> value_of(const Column& column, const CsvCell& cell);
  [[nodiscard]] static std::optional<std::string> to_json(const Node& node, const Values& values);

  std::string header_;
  std::vector<Column> columns_;
  std::optional<std::size_t> id_column_;
  Node root_;
};

}  // namespace looseleaf::cli

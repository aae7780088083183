// Builds the JSON of an entity as text, so that numbers keep their digits.
#include "cli/report/csv_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <looseleaf/query.hpp>
#include <looseleaf/uuid.hpp>

#include "cli/files/files.hpp"
#include "cli/report/key_names.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/text.hpp"
#include "model/json/strict_json.hpp"

namespace looseleaf::cli {
namespace {

struct TypeName {
  std::string_view name;
  ColumnType type;
  const char* hint;
};
constexpr std::ptrdiff_t most_keys = 128;  // that a name joins by dots; an entity is not nested more deeply

constexpr std::array<TypeName, 6> type_names = {
    {{"string", ColumnType::string, "write the file in UTF-8, for example with `iconv -t UTF-8`"},
     {"uuid", ColumnType::uuid, "write a uuid as 32 hexadecimal digits, with or without dashes"},
     {"int", ColumnType::integer,
      "write a whole number from -9223372036854775808 to 9223372036854775807, without zeros in front"},
     {"double", ColumnType::real, "write a number such as 2, -0.5 or 1e6, with a point and without separators"},
     {"bool", ColumnType::boolean, "write true or false"},
     {"json", ColumnType::json, "write a JSON value; in a cell in quotes, each of its quotes is doubled"}}};

const TypeName& name_of(ColumnType type) {
  return type_names.at(static_cast<std::size_t>(type));
}

std::string names_of_types() {
  std::string names;
  for (const TypeName& type : type_names) {
    names.append(names.empty() ? "" : ", ").append(type.name);
  }
  return names;
}

Error wrong_types(std::string_view text, const std::string& hint) {
  return {ErrorCode::usage, "invalid types of columns", {{"option", "--types"}, {"value", std::string(text)}}, hint};
}

// Returns the part of the list that comes first, up to a comma that does not belong to a name in quotes.
std::string_view first_part(std::string_view list) {
  const bool quoted = list.starts_with('"');
  std::size_t at = 1;
  while (quoted && at < list.size() && list[at] != '"') {
    at += list[at] == '\\' ? 2 : 1;
  }
  return list.substr(0, list.find(',', quoted ? at : 0));
}

Error::Context place_of(const CsvCell& cell) {
  return {{"line", std::to_string(cell.position.line)}, {"column", std::to_string(cell.position.column)}};
}

Error bad_header(const std::string& what, const CsvCell& cell, const std::string& hint) {
  Error error(ErrorCode::bad_entity, what, place_of(cell), hint);
  return cell.text.empty() ? error : error.with("field", cell.text);
}

bool is_json_number(const std::string& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool plain = !text.empty() && (text.front() == '-' || is_digit(text.front())) && is_digit(text.back());
  return plain && Json::parse(text, nullptr, false).is_number();
}

bool is_int64(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return is_json_number(text) && error == std::errc() && at == end;
}

std::optional<std::string> string_of(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {  // not in UTF-8
    return std::nullopt;
  }
}

std::optional<std::string> boolean_of(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });  // spreadsheets write TRUE
  return text == "true" || text == "false" ? std::optional(text) : std::nullopt;
}

// Throws JsonFault for JSON that put would reject.
bool is_json(const std::string& text) {
  try {
    static_cast<void>(model::parse_strict(text));
    return true;
  } catch (const model::JsonFault& fault) {
    if (fault.kind != model::JsonFaultKind::syntax) {
      throw;
    }
    return false;
  }
}

// Returns the JSON of a text that is not empty; absent if it does not have the type. Throws JsonFault for JSON that put
// would reject.
std::optional<std::string> parse_cell(ColumnType type, const std::string& text) {
  switch (type) {
    case ColumnType::string:
      return string_of(text);
    case ColumnType::uuid:
      return Uuid::parse(text) ? string_of(text) : std::nullopt;
    case ColumnType::integer:
      return is_int64(text) ? std::optional(text) : std::nullopt;
    case ColumnType::real:
      return is_json_number(text) ? std::optional(text) : std::nullopt;
    case ColumnType::boolean:
      return boolean_of(text);
    case ColumnType::json:
      return is_json(text) ? std::optional(on_one_line(text)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

ColumnTypes parse_column_types(std::string_view text) {
  ColumnTypes types;
  for (std::string_view rest = text; true;) {
    const std::string_view part = first_part(rest);
    const std::size_t equals = part.rfind('=');
    const std::string_view type = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    const auto* const named =
        std::find_if(type_names.begin(), type_names.end(), [&](const TypeName& one) { return one.name == type; });
    if (named == type_names.end()) {
      throw wrong_types(text, "write column=type, separated by commas; types are " + names_of_types());
    }
    const std::string_view name = part.substr(0, equals);
    const auto parsed = name.starts_with('"') ? Json::parse(name, nullptr, false) : Json(name);
    if (!parsed.is_string() || name.empty()) {
      throw wrong_types(text, R"(write column=type; a name with a comma is a JSON string: "a,b"=int)");
    }
    if (!types.emplace(parsed.get<std::string>(), named->type).second) {
      throw wrong_types(text, "name each column once");
    }
    if (part.size() == rest.size()) {
      return types;
    }
    rest.remove_prefix(part.size() + 1);
  }
}

CsvColumns::CsvColumns(const CsvRecord& header, const ColumnTypes& types)
    : header_(header.text + (header.crlf ? "\r" : "")) {
  if (header.fault) {
    const CsvCell place{.position = header.fault->position};
    throw bad_header(header.fault->what, place, header.fault->hint);
  }
  const CsvCell& first = header.cells.front();
  if (header.cells.size() == 1 && first.text.find_first_of(";\t") != std::string::npos) {
    throw bad_header("the header has no commas", first, "separate cells by commas, and not by semicolons or tabs");
  }
  for (const CsvCell& cell : header.cells) {
    add_column(cell, types);
  }
  for (const auto& [name, type] : types) {
    if (std::none_of(columns_.begin(), columns_.end(), [&](const Column& column) { return column.name == name; })) {
      throw Error(ErrorCode::usage, "the header has no such column", {{"option", "--types"}, {"field", name}},
                  "name a column as the first line of the file does");
    }
  }
}

void CsvColumns::require(const Key& key) const {
  for (const std::string& property : key.properties()) {
    const auto can_have_it = [&](const Column& column) {
      return column.name == property || (column.type == ColumnType::json && property.starts_with(column.name + '.'));
    };
    if (std::none_of(columns_.begin(), columns_.end(), can_have_it)) {
      std::vector<std::string_view> names;
      for (const Column& column : columns_) {
        names.push_back(column.name);
      }
      throw Error(ErrorCode::usage, "the header has no such column", {{"option", "--key"}, {"field", property}},
                  hint_for_missing(property, names));
    }
  }
}

std::optional<std::string> CsvColumns::column_like_a_value() const {
  const auto found =
      std::find_if(columns_.begin(), columns_.end(), [](const Column& column) { return is_json_number(column.name); });
  return found == columns_.end() ? std::nullopt : std::optional(found->name);
}

void CsvColumns::add_column(const CsvCell& cell, const ColumnTypes& types) {
  if (cell.text.empty()) {
    throw bad_header("a column without a name", cell, "name each column in the first line, or delete the column");
  }
  if (!string_of(cell.text)) {
    throw bad_header("invalid UTF-8", {.position = cell.position}, name_of(ColumnType::string).hint);
  }
  if (cell.text.find('\r') != std::string::npos) {
    throw bad_header("a carriage return in the header", {.position = cell.position},
                     "end the lines with a line feed, and not with a carriage return alone");
  }
  if (cell.text.front() == ' ' || cell.text.back() == ' ') {
    throw bad_header("a column's name begins or ends with a space", cell, "put no space beside the commas");
  }
  if (Uuid::parse(cell.text)) {
    throw bad_header("the header has an id where it should name a column", cell,
                     "put a line with the names of the columns in front of the file");
  }
  if (std::count(cell.text.begin(), cell.text.end(), '.') >= most_keys) {
    throw bad_header("a column's name has too many parts", {.position = cell.position},
                     fmt::format("nest at most {} objects", most_keys));
  }
  add_path(cell);
  const bool is_id = cell.text == "id";
  if (is_id) {
    id_column_ = columns_.size();
  }
  const auto type = types.find(cell.text);
  columns_.push_back({cell.text, type != types.end() ? type->second : is_id ? ColumnType::uuid : ColumnType::string});
}

void CsvColumns::add_path(const CsvCell& cell) {
  Node* node = &root_;
  std::string_view rest = cell.text;
  std::size_t dot = 0;
  do {
    dot = rest.find('.');
    const std::string_view key = rest.substr(0, dot);
    const auto found = std::find_if(node->members.begin(), node->members.end(),
                                    [&](const auto& member) { return member.first == key; });
    const bool is_new = found == node->members.end();
    const bool ends = dot == std::string_view::npos;
    if (!is_new && (ends || found->second.column)) {
      throw bad_header("columns exclude each other", cell, "name each column once, and not both `a` and `a.b`");
    }
    node = is_new ? &node->members.emplace_back(std::string(key), Node()).second : &found->second;
    rest.remove_prefix(ends ? rest.size() : dot + 1);
  } while (dot != std::string_view::npos);
  node->column = columns_.size();
}

std::string CsvColumns::to_json(const CsvRecord& record) const {
  if (record.fault) {
    Error::Context context;
    if (const auto& closed = record.fault->closed) {
      context.emplace_back("closed_line", std::to_string(closed->line));
    }
    if (const auto& last = record.fault->last_line) {
      context.emplace_back("last_line", std::to_string(*last));
    }
    throw Reject{record.fault->what, record.fault->position, std::move(context), record.fault->hint};
  }
  if (record.cells.size() != columns_.size()) {
    throw Reject{"the line has another number of cells than the header",
                 record.position,
                 {{"cells", std::to_string(record.cells.size())}, {"columns", std::to_string(columns_.size())}},
                 "enclose a cell that contains a comma or a line break in quotes"};
  }
  // A file that was appended to another one begins with a byte order mark, too.
  const auto repeats = [](const CsvCell& cell, const Column& column) {
    return cell.text == column.name || cell.text == std::string(byte_order_mark) + column.name;
  };
  if (columns_.size() > 1 &&
      std::equal(record.cells.begin(), record.cells.end(), columns_.begin(), columns_.end(), repeats)) {
    throw Reject{"the line repeats the header", record.position, {}, "delete the line"};
  }
  Values values;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    values.push_back(value_of(columns_[i], record.cells[i]));
  }
  return to_json(root_, values).value_or("");
}

std::optional<std::string> CsvColumns::value_of(const Column& column, const CsvCell& cell) {
  if (cell.text.empty()) {
    return cell.quoted && column.type == ColumnType::string ? std::optional<std::string>("\"\"") : std::nullopt;
  }
  if (column.type != ColumnType::string && !cell.quoted && cell.text == "null") {
    return "null";
  }
  std::optional<std::string> value;
  try {
    value = parse_cell(column.type, cell.text);
  } catch (const model::JsonFault& fault) {
    throw Reject{fault.what(), cell.position, {{"field", column.name}}, model::hint_for(fault, cell.text)};
  }
  if (!value) {
    const TypeName& type = name_of(column.type);
    const bool is_string = column.type == ColumnType::string;
    Error::Context context = {{"field", column.name}};
    if (!is_string) {
      context.emplace_back("type", type.name);
    }
    throw Reject{is_string ? "invalid UTF-8" : "a cell does not have its column's type", cell.position,
                 std::move(context), type.hint};
  }
  return value;
}

std::optional<std::string> CsvColumns::to_json(const Node& node, const Values& values) {
  if (node.column) {
    return values[*node.column];
  }
  std::string object;
  for (const auto& [name, member] : node.members) {
    if (const std::optional<std::string> value = to_json(member, values)) {
      object.append(object.empty() ? "{" : ",").append(Json(name).dump()).append(":").append(*value);
    }
  }
  return object.empty() ? std::nullopt : std::optional(object + '}');
}

std::string CsvColumns::rejects_header() const {
  return id_column_ ? header_ : "id," + header_;
}

// The file of rejects ends each line in LF.
CsvColumns::RejectLine CsvColumns::reject_line(const CsvRecord& record) const {
  const char* const line_end = record.crlf ? "\r" : "";
  if (!id_column_) {
    const bool continues = record.fault && record.fault->what.empty();
    return {(continues ? "" : ",") + record.text + line_end, 0};
  }
  RejectLine line{record.text + line_end};
  if (*id_column_ < record.cells.size() && record.cells[*id_column_].text.empty()) {
    const CsvCell& cell = record.cells[*id_column_];
    line.text.erase(cell.offset, cell.quoted ? 2 : 0);
    line.id_at = cell.offset;
  }
  return line;
}

}  // namespace looseleaf::cli

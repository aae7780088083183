// Takes fields out of the text of an entity, which is valid JSON.
#include "cli/report/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <looseleaf/error.hpp>
#include <utility>

#include "base/text.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

// Reads a text from its beginning.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(base::json_white_space), rest_.size())); }

  // Skips white space, and the byte if it comes next. False if it does not.
  bool skip(char byte) {
    skip_space();
    const bool found = rest_.starts_with(byte);
    rest_.remove_prefix(found ? 1 : 0);
    return found;
  }

  // Returns the value that comes next, as it is written.
  std::string_view take_value() {
    skip_space();
    const bool nested = rest_.starts_with('{') || rest_.starts_with('[');
    return take(rest_.starts_with('"') ? end_of_string(0) : nested ? end_of_nested() : end_of_plain());
  }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  [[nodiscard]] std::size_t end_of_string(std::size_t begin) const {
    std::size_t at = begin + 1;
    while (at < rest_.size() && rest_[at] != '"') {
      at += rest_[at] == '\\' ? 2 : 1;
    }
    return at + 1;
  }

  [[nodiscard]] std::size_t end_of_nested() const {
    std::size_t depth = 0, at = 0;
    do {
      at = rest_.find_first_of("\"{}[]", at);
      if (at == std::string_view::npos) {
        return at;
      }
      const bool opens = rest_[at] == '{' || rest_[at] == '[';
      if (rest_[at] == '"') {
        at = end_of_string(at);
      } else {
        depth += opens ? 1 : static_cast<std::size_t>(-1);
        ++at;
      }
    } while (depth > 0);
    return at;
  }

  [[nodiscard]] std::size_t end_of_plain() const { return rest_.find_first_of(",]} \t\r\n"); }

  std::string_view rest_;
};

std::string decoded(std::string_view string) {
  if (string.find('\\') == std::string_view::npos) {
    return std::string(string.substr(1, string.size() - 2));
  }
  const auto parsed = Json::parse(string, nullptr, false);  // another program may have stored a lone surrogate
  return parsed.is_string() ? parsed.get<std::string>() : std::string(string);
}

// Calls the function with each member of an object: its key, decoded and as it is written, and its value.
template <typename Function>
void for_each_member(std::string_view object, const Function& function) {
  Cursor cursor(object);
  if (!cursor.skip('{') || cursor.skip('}')) {
    return;
  }
  do {
    const std::string_view key = cursor.take_value();
    cursor.skip(':');
    function(decoded(key), key, cursor.take_value());
  } while (cursor.skip(','));
}

std::string cell_of(std::string_view value) {
  if (value.starts_with('"')) {
    return csv_cell(decoded(value));
  }
  const std::string line = on_one_line(value);
  return value.starts_with('{') || value.starts_with('[') ? csv_cell(line) : line;
}

std::string joined(const std::vector<std::string>& cells) {
  return fmt::format("{}", fmt::join(cells, ","));
}

}  // namespace

std::vector<std::string> parse_names(const std::string& option, std::string_view text) {
  const auto invalid = [&](const char* what) {
    return Error(ErrorCode::usage, what, {{"option", option}, {"value", std::string(text)}},
                 "separate names by one comma; a name that contains a comma is written in double quotes, as a JSON "
                 "string: 'a,\"b,c\"'");
  };
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find(',', at), text.size());
    std::string name(text.substr(at, end - at));
    if (name.starts_with('"')) {
      const std::string_view quoted = Cursor(text.substr(at)).take_value();
      const auto parsed = Json::parse(quoted, nullptr, false);
      end = at + quoted.size();
      if (!parsed.is_string() || (end < text.size() && text[end] != ',')) {
        throw invalid("invalid name in quotes");
      }
      name = parsed.get<std::string>();
    }
    if (name.empty()) {
      throw invalid("an empty name");
    }
    names.push_back(std::move(name));
    at = end + 1;
  }
  return names;
}

std::string csv_cell(std::string_view text) {
  if (!text.empty() && text != "null" && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string cell = "\"";
  for (const char c : text) {
    cell.append(c == '"' ? 2 : 1, c);
  }
  return cell + '"';
}

Fields::Fields(std::vector<std::string> paths) : paths_(std::move(paths)), found_(paths_.size()) {
  for (std::size_t column = 0; column < paths_.size(); ++column) {
    Node* node = &root_;
    std::string_view rest = paths_[column];
    std::size_t dot = 0;
    do {
      dot = rest.find('.');
      node = &node->members[std::string(rest.substr(0, dot))];
      rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1);
    } while (dot != std::string_view::npos);
    if (node->column) {
      throw Error(ErrorCode::usage, "a field is named twice", {{"field", paths_[column]}}, "name each field once");
    }
    node->column = column;
  }
}

// Returns true if the object has one of the members.
bool Fields::add_members(std::string& json, const Node& node, std::string_view object) {
  bool found = false;
  for_each_member(object, [&](const std::string& key, std::string_view written_key, std::string_view value) {
    const auto member = node.members.find(key);
    if (member == node.members.end()) {
      return;
    }
    const std::size_t before = json.size();
    json.append(found ? "," : "").append(written_key).append(":");
    if (member->second.column) {
      found_[*member->second.column] = true;
      json += on_one_line(value);
      mark_found(member->second, value);
    } else if (json += '{'; add_members(json, member->second, value)) {
      json += '}';
    } else {
      json.resize(before);
      return;
    }
    found = true;
  });
  return found;
}

// Notes which of the members are in a value that is printed as a whole.
void Fields::mark_found(const Node& node, std::string_view value) {
  if (node.members.empty()) {
    return;
  }
  for_each_member(value, [&](const std::string& key, std::string_view, std::string_view inner) {
    const auto member = node.members.find(key);
    if (member != node.members.end()) {
      if (member->second.column) {
        found_[*member->second.column] = true;
      }
      mark_found(member->second, inner);
    }
  });
}

std::string Fields::to_json(std::string_view entity) {
  std::string json = "{";
  add_members(json, root_, entity);
  return json + '}';
}

void Fields::find_cells(std::vector<std::string_view>& cells, const Node& node, std::string_view object) {
  for_each_member(object, [&](const std::string& key, std::string_view, std::string_view value) {
    const auto member = node.members.find(key);
    if (member == node.members.end()) {
      return;
    }
    if (member->second.column) {
      cells[*member->second.column] = value;
    }
    if (!member->second.members.empty()) {
      find_cells(cells, member->second, value);
    }
  });
}

std::string Fields::to_csv(std::string_view entity) {
  std::vector<std::string_view> values(paths_.size());
  find_cells(values, root_, entity);
  for (std::size_t column = 0; column < values.size(); ++column) {
    found_[column] = found_[column] || !values[column].empty();
  }
  std::vector<std::string> cells;
  std::transform(values.begin(), values.end(), std::back_inserter(cells), cell_of);
  return joined(cells);
}

std::string Fields::csv_header() const {
  std::vector<std::string> cells;
  std::transform(paths_.begin(), paths_.end(), std::back_inserter(cells), csv_cell);
  return joined(cells);
}

std::vector<std::string> Fields::never_found() const {
  std::vector<std::string> paths;
  for (std::size_t column = 0; column < paths_.size(); ++column) {
    if (!found_[column]) {
      paths.push_back(paths_[column]);
    }
  }
  return paths;
}

Parameter fields_parameter(std::optional<std::string>& target) {
  return {.name = "--fields",
          .value = "NAMES",
          .help = "print only these fields of each entity, such as `id,author.name`",
          .target = &target,
          .details =
              "A name is a path through objects. What an entity lacks is left out; a warning names what all of them "
              "lack. With `--output csv`, the "
              "output is CSV for spreadsheets, with a column for each field."};
}

EntityPrinter::EntityPrinter(const std::optional<std::string>& fields, const Globals& globals) : csv_(globals.csv()) {
  if (fields) {
    fields_.emplace(parse_names("--fields", *fields));
  } else if (csv_) {
    throw Error(ErrorCode::usage, "--output csv needs --fields", {},
                "name the columns, such as --fields id,author.name, or leave --output csv out");
  }
}

bool EntityPrinter::print(std::string_view entity) {
  if (!fields_) {
    return print_line(on_one_line(entity));
  }
  printed_ = true;
  begin();
  return print_line(csv_ ? fields_->to_csv(entity) : fields_->to_json(entity));
}

void EntityPrinter::finish() {
  begin();
  if (!printed_) {
    return;
  }
  for (const std::string& field : fields_->never_found()) {
    print_warning("no entity that was printed has the field", {{"field", field}},
                  std::string("check the spelling of the name: capital letters differ from small ones, and spaces "
                              "belong to it") +
                      (field.find('.') == std::string::npos ? "" : "; a path does not lead into an array"));
  }
}

void EntityPrinter::begin() {
  if (csv_ && !begun_) {
    begun_ = true;
    print_line(fields_->csv_header());
  }
}

}  // namespace looseleaf::cli

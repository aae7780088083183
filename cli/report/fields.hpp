// --fields: prints entities whole, or only some of their fields, as JSON or as CSV. Values are taken from the stored
// text, so that numbers keep their digits.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Reads a list of names separated by commas. A name that contains a comma is written as a JSON string. Throws
// Error(usage) with the option's name.
[[nodiscard]] std::vector<std::string> parse_names(const std::string& option, std::string_view text);

// A cell of CSV with a text in it. Quotes enclose a text that contains a separator, a quote or a line break, and one
// that would otherwise be read as an absent value or as null.
[[nodiscard]] std::string csv_cell(std::string_view text);

// The fields of an entity, which are named by dotted paths.
class Fields {
 public:
  // Throws Error(usage) for a path that is empty or comes twice.
  explicit Fields(std::vector<std::string> paths);

  // Returns the object with only these members, in the order in which the entity has them.
  [[nodiscard]] std::string to_json(std::string_view entity);
  // Returns a line of CSV without its end: a cell for each path, in the order of the paths.
  [[nodiscard]] std::string to_csv(std::string_view entity);
  [[nodiscard]] std::string csv_header() const;
  // Returns the paths that no entity had.
  [[nodiscard]] std::vector<std::string> never_found() const;

 private:
  struct Node {
    std::map<std::string, Node, std::less<>> members;
    std::optional<std::size_t> column;  // present if a path ends here
  };

  bool add_members(std::string& json, const Node& node, std::string_view object);
  void mark_found(const Node& node, std::string_view value);
  static void find_cells(std::vector<std::string_view>& cells, const Node& node, std::string_view object);

  const std::vector<std::string> paths_;
  std::vector<bool> found_;  // by path
  Node root_;
};

[[nodiscard]] Parameter fields_parameter(std::optional<std::string>& target);

// Prints the entities of a command that has --fields.
class EntityPrinter {
 public:
  // Throws Error(usage), also if the output is CSV and there are no fields.
  EntityPrinter(const std::optional<std::string>& fields, const Globals& globals);

  // False once standard output was closed.
  bool print(std::string_view entity);
  // Call it at the end: even without entities, CSV has a header. Warns of fields that no entity had.
  void finish();

 private:
  void begin();

  std::optional<Fields> fields_;
  const bool csv_;
  bool begun_ = false, printed_ = false;
};

}  // namespace looseleaf::cli

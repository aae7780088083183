// Notices that an input is CSV and not JSON.
#pragma once

#include <looseleaf/entity_reader.hpp>
#include <optional>
#include <string>

namespace looseleaf::cli {

// Looks at the pieces of one input.
class CsvDetector {
 public:
  void add(const Piece& piece);
  // Call it at the end of the input. `input` is its name, or "-". Prints a warning that says how to convert the input
  // if its first line has separators and no piece begins with a brace.
  void warn_if_csv(const std::string& input) const;

 private:
  std::optional<std::string> first_line_;
  bool has_object_ = false;
};

}  // namespace looseleaf::cli

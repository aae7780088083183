// Finds the end of one JSON value. It follows brackets and strings, one byte at a time.
#pragma once

#include <cstddef>
#include <string>

namespace looseleaf::model {

class ValueScanner {
 public:
  enum class Step {
    more,    // the byte belongs to the value, and the value continues
    last,    // the byte ends the value
    behind,  // the value ended before this byte
    broken,  // the byte cannot belong to the value
  };

  // The reason why a byte cannot belong to the value.
  enum class Fault { not_closed, line_break, no_match, too_deep };

  // The most brackets that may be open: far more than in any stored value, and few enough to remember.
  static constexpr std::size_t deepest = std::size_t{1} << 20;

  // Returns the bracket that was opened last. At least one must be open.
  [[nodiscard]] char innermost() const { return open_.back(); }

  // True if only quotation marks, backslashes and line breaks need to be passed to feed().
  [[nodiscard]] bool inside_string() const { return in_string_ && !escaped_; }

  // Processes the next byte. If it returns `broken`, `fault` says why.
  [[nodiscard]] Step feed(char byte, bool begins_line, Fault& fault);

 private:
  [[nodiscard]] Step feed_string(char byte, Fault& fault);
  [[nodiscard]] Step open(char byte);
  [[nodiscard]] Step close(char byte, Fault& fault);
  [[nodiscard]] bool object_may_begin() const;

  std::string open_;  // the brackets that are open, outermost first
  char last_ = '\0';  // the last byte outside strings that is not white space
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace looseleaf::model

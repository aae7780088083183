// Finds the end of one JSON value by following its brackets and strings, a byte at a time.
#pragma once

#include <cstddef>
#include <string>

namespace looseleaf::model {

class ValueScanner {
 public:
  enum class Step {
    more,    // the byte belongs to the value, which goes on
    last,    // the byte ends the value
    behind,  // the value ended before this byte
    broken,  // the byte cannot belong to the value
  };

  // Why a byte cannot belong to the value.
  enum class Fault { not_closed, line_break, no_match, too_deep };

  // So many brackets may be open: far more than anything that is stored has, and few enough to remember.
  static constexpr std::size_t deepest = std::size_t{1} << 20;

  // The bracket that was opened last; there must be one.
  [[nodiscard]] char innermost() const { return open_.back(); }

  // Whether bytes other than quotation marks, backslashes and line breaks need not be fed.
  [[nodiscard]] bool inside_string() const { return in_string_ && !escaped_; }

  // Looks at the next byte. With `broken`, `fault` says why.
  [[nodiscard]] Step feed(char byte, bool begins_line, Fault& fault);

 private:
  [[nodiscard]] Step feed_string(char byte, Fault& fault);
  [[nodiscard]] Step open(char byte);
  [[nodiscard]] Step close(char byte, Fault& fault);
  [[nodiscard]] bool object_may_begin() const;

  std::string open_;  // the brackets that are open, outermost first
  char last_ = '\0';  // the last byte that was no white space and not inside a string
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace looseleaf::model

// Finds the end of one JSON value by following its brackets and strings, a byte at a time.
#pragma once

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

  static constexpr const char* not_closed = "object is not closed";

  // Whether bytes other than quotation marks, backslashes and line breaks need not be fed.
  [[nodiscard]] bool inside_string() const { return in_string_ && !escaped_; }

  // Looks at the next byte. With `broken`, `reason` says why.
  [[nodiscard]] Step feed(char byte, bool begins_line, const char*& reason);

 private:
  [[nodiscard]] Step feed_string(char byte, const char*& reason);
  [[nodiscard]] Step open(char byte);
  [[nodiscard]] Step close(char byte, const char*& reason);
  [[nodiscard]] bool object_may_begin() const;

  std::string open_;  // the brackets that are open, outermost first
  char last_ = '\0';  // the last byte that was no white space and not inside a string
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace looseleaf::model

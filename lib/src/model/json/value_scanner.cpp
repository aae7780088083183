// Follows brackets and strings, and detects an object that was cut off.
#include "model/json/value_scanner.hpp"

namespace looseleaf::model {

ValueScanner::Step ValueScanner::feed(char byte, bool begins_line, Fault& fault) {
  if (in_string_) {
    return feed_string(byte, fault);
  }
  const bool nothing_open = open_.empty();
  switch (byte) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
      return nothing_open ? Step::behind : Step::more;
    case '{':
    case '[':
      if (begins_line && byte == '{' && !object_may_begin()) {
        fault = Fault::not_closed;
        return Step::broken;
      }
      if (open_.size() == deepest) {
        fault = Fault::too_deep;
        return Step::broken;
      }
      return open(byte);
    case '}':
    case ']':
      return nothing_open ? Step::behind : close(byte, fault);
    case ',':
      last_ = byte;
      return nothing_open ? Step::behind : Step::more;
    case '"':
      in_string_ = true;
      break;
    default:
      break;
  }
  last_ = byte;
  return Step::more;
}

ValueScanner::Step ValueScanner::feed_string(char byte, Fault& fault) {
  if (byte == '\n') {
    fault = Fault::line_break;
    return Step::broken;
  }
  if (escaped_) {
    escaped_ = false;
  } else if (byte == '\\') {
    escaped_ = true;
  } else if (byte == '"') {
    in_string_ = false;
    return open_.empty() ? Step::last : Step::more;
  }
  return Step::more;
}

ValueScanner::Step ValueScanner::open(char byte) {
  open_ += byte;
  last_ = byte;
  return Step::more;
}

ValueScanner::Step ValueScanner::close(char byte, Fault& fault) {
  if (open_.back() != (byte == '}' ? '{' : '[')) {
    fault = Fault::no_match;
    return Step::broken;
  }
  open_.pop_back();
  last_ = byte;
  return open_.empty() ? Step::last : Step::more;
}

// True if an object may begin here. Inside an object it follows a colon, inside an array a bracket or a comma. After
// anything else, a `{` means that the open object was cut off and the next one begins.
bool ValueScanner::object_may_begin() const {
  return open_.empty() || last_ == ':' || (open_.back() == '[' && (last_ == '[' || last_ == ','));
}

}  // namespace looseleaf::model

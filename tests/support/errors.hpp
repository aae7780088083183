// How hints are worded, for every test that sees one.
#pragma once

#include <cctype>
#include <string_view>

namespace looseleaf::test {

// True for no hint, and for one that starts in lower case (or with something quoted) and ends without a full stop.
inline bool is_worded_as_hint(std::string_view hint) {
  return hint.empty() || (std::isupper(static_cast<unsigned char>(hint.front())) == 0 && hint.back() != '.');
}

}  // namespace looseleaf::test

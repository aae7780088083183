// Remembers the cluster files and index definitions that tests have the program read, for
// tests/schemas/schemas_test.py, which compares what the program says of each with what its schema says.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/hex.hpp"

namespace looseleaf::test {

// Adds a line "KIND HEX" to the file that $LOOSELEAF_PARSED_FILES names, if it is set. KIND is "cluster" or "index".
inline void remember_file(std::string_view kind, std::string_view text) {
  if (const char* file = std::getenv("LOOSELEAF_PARSED_FILES")) {
    std::ofstream(file, std::ios::app) << kind << ' ' << base::to_hex(text) << '\n';
  }
}

}  // namespace looseleaf::test

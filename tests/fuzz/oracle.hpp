// What a fuzz target demands of the code under it.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <looseleaf/error.hpp>
#include <string>
#include <string_view>

#include "tests/support/errors.hpp"

namespace looseleaf::fuzz {

// Ends the run, which makes libFuzzer keep the input.
inline void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "fuzz: it does not hold that %s\n", what);
    std::abort();
  }
}

// The line and the column of a complaint about `text`, which starts at line 1, lie in the text or right behind it.
inline void require_place(const Error& error, std::string_view text) {
  const std::string line = test::context_of(error, "line");
  const std::string column = test::context_of(error, "column");
  require(line != "-" && column != "-", "a complaint has a line and a column");
  std::size_t begin = 0;
  for (unsigned long number = std::stoul(line); number > 1; --number) {
    begin = text.find('\n', begin);
    require(begin != std::string_view::npos, "the line of a complaint is one of the text");
    ++begin;
  }
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  require(std::stoul(column) >= 1 && begin + std::stoul(column) - 1 <= end,
          "the column of a complaint is one of its line");
}

}  // namespace looseleaf::fuzz

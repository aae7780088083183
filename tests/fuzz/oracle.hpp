// What a fuzz target demands of the code under it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <looseleaf/error.hpp>
#include <string>
#include <string_view>

namespace looseleaf::fuzz {

// Ends the run, which makes libFuzzer keep the input.
inline void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "fuzz: it does not hold that %s\n", what);
    std::abort();
  }
}

// The value of a key of an error's context; empty if it is not there.
inline std::string fact(const Error& error, std::string_view key) {
  for (const auto& [known, value] : error.context()) {
    if (known == key) {
      return value;
    }
  }
  return {};
}

// The line and the column of a complaint about `text`, which starts at line 1, lie in the text or right behind it.
inline void require_place(const Error& error, std::string_view text) {
  const std::string line = fact(error, "line");
  const std::string column = fact(error, "column");
  require(!line.empty() && !column.empty(), "a complaint has a line and a column");
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

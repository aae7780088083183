// simdjson's parser, made so that it may be used where memory can run out.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "base/pool.hpp"

namespace looseleaf::model {

// Has all the memory that it will ever need. simdjson ends the process if it finds none when it looks, at first use,
// for the processor's best code, or in the midst of setting a parser up.
class FastParser {
 public:
  FastParser();

  // The value that nlohmann reads in this text, except that all members of the same key are there: of these nlohmann
  // has the last. Absent for what is no JSON, and for some texts that are (long ones, deep ones, integers beyond 64
  // bits, escaped surrogates). It is valid until the next one.
  [[nodiscard]] std::optional<simdjson::dom::element> parse(std::string_view text);

  static base::Pool<FastParser>& pool();

 private:
  std::unique_ptr<char[]> text_;
  simdjson::dom::parser parser_;
};

}  // namespace looseleaf::model

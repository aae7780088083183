// simdjson's parser, for the texts that it reads as nlohmann does.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace looseleaf::model {

// Allocates all its memory when it is made, and throws std::bad_alloc if there is not enough. If there is none while
// simdjson selects code for the processor, at first use, the process ends.
class FastParser {
 public:
  FastParser();

  // Returns the value that nlohmann would read, except that it has all members with the same key, where nlohmann has
  // only the last one. Absent for invalid JSON, and for some valid texts (long ones, deep ones, integers beyond 64
  // bits, escaped surrogates that may be lone). The value is valid until the next call.
  [[nodiscard]] std::optional<simdjson::dom::element> parse(std::string_view text);

 private:
  std::unique_ptr<char[]> text_;
  simdjson::dom::parser parser_;
};

}  // namespace looseleaf::model

// JSON parsed without forgiveness: duplicate keys, lone surrogates, deep nesting and stray bytes are faults with a
// place. nlohmann::json by itself keeps the last of two equal keys and takes a byte order mark or a NUL.
#pragma once

#include <cstddef>
#include <exception>
#include <looseleaf/entity_reader.hpp>
#include <map>
#include <string>
#include <string_view>

#include "model/json/json.hpp"

namespace looseleaf::model {

inline constexpr std::size_t max_depth = 128;  // of nested objects and arrays, the outermost included

enum class JsonFaultKind { syntax, duplicate_key, invalid_utf8, lone_surrogate, too_deep, number_range };

class JsonFault : public std::exception {
 public:
  JsonFault(JsonFaultKind fault_kind, std::size_t fault_offset, std::string fault_detail);

  // "duplicate key", "invalid UTF-8", ...
  [[nodiscard]] const char* what() const noexcept override;

  JsonFaultKind kind;
  std::size_t offset;  // of the byte at fault
  std::string detail;  // what exactly; never a value out of the text. May be empty
};

// Where a value is in the text, and its key if it is a member of an object.
struct JsonPlace {
  std::size_t key = 0;
  std::size_t value = 0;
};

// By JSON pointer ("/shards/0/port"; "" is the outermost value).
using JsonPlaces = std::map<std::string, JsonPlace>;

// Throws JsonFault. Fills `places` if it is not null, at some cost.
[[nodiscard]] Json parse_strict(std::string_view text, JsonPlaces* places = nullptr);

// What to do about a fault in `text`, as a hint; empty if nothing is better than the detail.
[[nodiscard]] std::string hint_for(const JsonFault& fault, std::string_view text);

// The position right after `text`, if `text` begins at `start`.
[[nodiscard]] Position position_after(std::string_view text, Position start = {});

}  // namespace looseleaf::model

// Parses JSON strictly: duplicate keys, lone surrogates, deep nesting and stray bytes are faults with a position.
// nlohmann::json itself keeps the last of two equal keys and accepts a byte order mark or a NUL.
#pragma once

#include <cstddef>
#include <exception>
#include <looseleaf/entity_reader.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace looseleaf::model {

inline constexpr std::size_t max_depth = 128;  // nested objects and arrays, including the outermost one

enum class JsonFaultKind { syntax, duplicate_key, invalid_utf8, lone_surrogate, too_deep, number_range };

class JsonFault : public std::exception {
 public:
  JsonFault(JsonFaultKind fault_kind, std::size_t fault_offset, std::string fault_detail);

  // Returns "duplicate key", "invalid UTF-8", ...
  [[nodiscard]] const char* what() const noexcept override;

  JsonFaultKind kind;
  std::size_t offset;  // the position of the faulty byte
  std::string detail;  // more facts; never a value from the text; may be empty
};

// The position of a value in the text, and of its key if it is a member of an object.
struct JsonPlace {
  std::size_t key = 0;
  std::size_t value = 0;
};

// What becomes of a whole number that does not fit 64 bits: the nearest double, or a value that big_integer() reads.
enum class BigIntegers { as_doubles, with_all_digits };

// Parses a text. Throws JsonFault.
[[nodiscard]] nlohmann::json parse_strict(std::string_view text, BigIntegers big_integers = BigIntegers::as_doubles);

// Returns the place of what a JSON pointer ("/shards/0/port"; "" is the outermost value) leads to in a text that
// parse_strict() accepts. Parses the text again, because places are only needed for error messages.
[[nodiscard]] JsonPlace place_of(std::string_view text, const std::string& pointer);

// Parses a stored body as nlohmann does, except that whole numbers keep all their digits. Throws JsonFault.
[[nodiscard]] nlohmann::json parse_stored(std::string_view text);

// Returns the digits of a whole number beyond std::int64_t; absent for any other value.
[[nodiscard]] std::optional<std::string> big_integer(const nlohmann::json& value);

// Returns the hint for a fault in `text`.
[[nodiscard]] std::string hint_for(const JsonFault& fault, std::string_view text);

// Returns the position after `text`, which begins at `start`.
[[nodiscard]] Position position_after(std::string_view text, Position start = {});

}  // namespace looseleaf::model

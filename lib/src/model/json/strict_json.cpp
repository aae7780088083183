// Handles nlohmann's parser events: builds the value and rejects what the library would accept.
#include "model/json/strict_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace looseleaf::model {
namespace {

using nlohmann::json;

// An iterator over the text. It stores in `*reached` how far the parser has come.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}

  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

bool is_scalar_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '+' || c == '-' || c == '.' || c == 'E';
}

// Returns the first byte of the string that ends right before `end`: going back, the first quote that no backslash
// escapes.
std::size_t string_start(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0) {
    --at;
    if (text[at] != '"') {
      continue;
    }
    std::size_t backslashes = 0;
    while (backslashes < at && text[at - backslashes - 1] == '\\') {
      ++backslashes;
    }
    if (backslashes % 2 == 0) {
      break;
    }
  }
  return at;
}

// Returns the first byte of the token that ends at `end`, or one byte earlier if the parser has read ahead.
std::size_t token_start(std::string_view text, std::size_t end) {
  if (end == 0) {
    return 0;
  }
  if (text[end - 1] == '"') {
    return string_start(text, end);
  }
  std::size_t at = end;
  if (!is_scalar_byte(text[at - 1]) && at >= 2 && is_scalar_byte(text[at - 2])) {
    --at;
  }
  const std::size_t token_end = at;
  while (at > 0 && is_scalar_byte(text[at - 1])) {
    --at;
  }
  return at == token_end ? at - 1 : at;
}

// Returns nlohmann's message without "syntax error" and without the excerpt of the text at its end.
std::string detail_of(std::string_view message) {
  const std::size_t dash = message.find(" - ");
  if (dash == std::string_view::npos) {
    return {};
  }
  message.remove_prefix(dash + 3);
  return std::string(message.substr(0, message.find("; last read: ")));
}

// Returns the number as it is in the text. nlohmann's parser writes the decimal point of the process's locale into it.
std::string as_written(std::string literal) {
  if (const std::size_t point = literal.find_first_not_of("+-0123456789eE"); point != std::string::npos) {
    literal[point] = '.';
  }
  return literal;
}

// True for a number without fraction and exponent.
bool is_whole(std::string_view number) {
  return number.find_first_of(".eE") == std::string_view::npos;
}

class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const char** reached, BigIntegers big_integers, bool strict)
      : text_(text), reached_(reached), big_integers_(big_integers), strict_(strict) {}

  // Notes the place that the pointer leads to.
  void look_for(json::json_pointer pointer) {
    for (; !pointer.empty(); pointer.pop_back()) {
      wanted_.insert(wanted_.begin(), pointer.back());
    }
    leads_there_.push_back(true);
  }
  [[nodiscard]] JsonPlace place() const { return place_; }

  nlohmann::json take() { return std::move(root_); }

  bool null() { return scalar(json(nullptr)); }
  bool boolean(bool value) { return scalar(json(value)); }
  bool number_integer(json::number_integer_t value) { return scalar(json(value)); }
  bool number_unsigned(json::number_unsigned_t value) { return scalar(json(value)); }
  // No JSON text has a binary value, so it can stand for the digits. `value` depends on the process's locale.
  bool number_float(json::number_float_t value, const std::string& literal) {
    const std::string number = as_written(literal);
    if (big_integers_ == BigIntegers::with_all_digits && is_whole(number)) {
      return scalar(json::binary(json::binary_t::container_type(number.begin(), number.end())));
    }
    std::from_chars(number.data(), number.data() + number.size(), value);  // if it is too small, it stays 0
    return scalar(json(value));
  }
  bool string(std::string& value) { return scalar(json(std::move(value))); }
  bool binary(json::binary_t& /*value*/) { return false; }

  bool start_object(std::size_t /*size*/) { return open(json::value_t::object); }
  bool start_array(std::size_t /*size*/) { return open(json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto& members = open_.back()->get_ref<json::object_t&>();
    if (strict_ && members.find(name) != members.end()) {
      throw JsonFault(JsonFaultKind::duplicate_key, string_start(text_, reached()),
                      std::string(base::utf8_prefix(name, 64)));
    }
    slot_ = &members[name];
    slot_leads_there_ = leads_to(name);
    if (slot_leads_there_ && wanted_.size() == open_.size()) {
      place_.key = string_start(text_, reached());
    }
    return true;
  }

  bool parse_error(std::size_t read, const std::string& /*last_token*/, const json::exception& error) {
    const std::string_view message = error.what();
    const std::size_t last = std::min(read == 0 ? 0 : read - 1, text_.size());
    if (dynamic_cast<const json::out_of_range*>(&error) != nullptr) {
      throw JsonFault(JsonFaultKind::number_range, token_start(text_, std::min(read, text_.size())), {});
    }
    if (message.find("ill-formed UTF-8") != std::string_view::npos) {
      throw JsonFault(JsonFaultKind::invalid_utf8, last, {});
    }
    if (message.find("invalid string: surrogate") != std::string_view::npos) {
      throw JsonFault(JsonFaultKind::lone_surrogate, last, {});
    }
    const bool whole_token = message.find(" - unexpected ") != std::string_view::npos && last < text_.size();
    throw JsonFault(JsonFaultKind::syntax, whole_token ? token_start(text_, last + 1) : last, detail_of(message));
  }

 private:
  [[nodiscard]] std::size_t reached() const { return static_cast<std::size_t>(*reached_ - text_.data()); }

  bool scalar(json&& value) {
    note_place();
    add(std::move(value));
    return true;
  }

  bool open(json::value_t type) {
    if (strict_ && open_.size() == max_depth) {
      throw JsonFault(JsonFaultKind::too_deep, reached() - 1, {});
    }
    const bool leads_there = note_place();
    open_.push_back(add(json(type)));
    if (!leads_there_.empty()) {
      leads_there_.push_back(leads_there);
    }
    return true;
  }

  bool close() {
    open_.pop_back();
    if (!leads_there_.empty()) {
      leads_there_.pop_back();
    }
    return true;
  }

  json* add(json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& elements = open_.back()->get_ref<json::array_t&>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    *slot_ = std::move(value);
    return slot_;
  }

  // Returns true if the innermost open value, and this key or index in it, are on the way to what is wanted.
  [[nodiscard]] bool leads_to(const std::string& token) const {
    return !leads_there_.empty() && leads_there_.back() && open_.size() <= wanted_.size() &&
           wanted_[open_.size() - 1] == token;
  }

  // Returns whether the value that begins here is on the way to what is wanted.
  bool note_place() {
    if (leads_there_.empty()) {
      return false;
    }
    const bool leads_there = open_.empty() || (open_.back()->is_array() ? leads_to(std::to_string(open_.back()->size()))
                                                                        : slot_leads_there_);
    if (leads_there && open_.size() == wanted_.size()) {
      place_.value = token_start(text_, reached());
    }
    return leads_there;
  }

  std::string_view text_;
  const char** reached_;
  const BigIntegers big_integers_;
  const bool strict_;  // objects have no key twice, and nesting has a limit
  nlohmann::json root_;
  std::vector<json*> open_;
  json* slot_ = nullptr;  // the value of the member whose key came last
  // Only if a place is looked for:
  std::vector<std::string> wanted_;  // the keys and indexes that lead to it
  std::vector<bool> leads_there_;    // of the text, and then of each of open_
  bool slot_leads_there_ = false;
  JsonPlace place_;
};

// `reached` always shows how far the builder has come.
void parse_with(TreeBuilder& builder, std::string_view text, const char*& reached) {
  json::sax_parse(CountingIterator(text.data(), &reached), CountingIterator(text.data() + text.size(), &reached),
                  &builder);
}

// What to do about a detail that begins with, or contains, these words.
struct DetailHint {
  std::string_view words, hint;
};
constexpr std::array<DetailHint, 10> detail_hints = {{
    {"a byte order mark", "save the file as UTF-8 without a byte order mark"},
    {"a NUL byte", "delete the NUL byte"},
    {"invalid literal", "quote strings and keys, and write true, false, null or 0.5 so; NaN and Infinity are not JSON"},
    {"forbidden character after backslash", R"(write \\ for a backslash)"},
    {"must be escaped", "write the character as the detail says; a string is on one line"},
    {"invalid string", R"(write four hexadecimal digits after \u)"},
    {"invalid number", "write a number such as 2, -0.5 or 1e6"},
    {"; expected ':'", "write a colon between a key and its value"},
    {"; expected string literal", "write each key as a string in double quotes"},
    {"; expected end of input", "if this is the right text, delete what follows the first value"},
}};

std::string hint_for_syntax(std::string_view text, std::size_t offset, std::string_view detail) {
  if (text.find_first_not_of(base::json_white_space) == std::string_view::npos) {
    return "write one JSON value; there is only white space";
  }
  if (offset >= text.size()) {
    return "close every bracket, brace and quotation mark; the text ends too early";
  }
  const std::size_t before = text.substr(0, offset).find_last_not_of(base::json_white_space);
  const bool after_comma = before != std::string_view::npos && text[before] == ',';
  switch (text[offset]) {
    case '/':
    case '#':
      return "delete the comment; JSON has no comments";
    case '\'':
      return "put double quotes around strings and keys";
    case ']':
    case '}':
      if (after_comma) {
        return "delete the comma before it";
      }
      break;
    default:
      break;
  }
  if (text[offset] == '0' && detail.starts_with("unexpected number")) {
    return "delete the leading zero";
  }
  const auto known = std::find_if(detail_hints.begin(), detail_hints.end(), [&](const DetailHint& one) {
    return detail.find(one.words) != std::string_view::npos;
  });
  return std::string(known != detail_hints.end() ? known->hint
                                                 : "separate members and elements by commas, and close what is open");
}

}  // namespace

JsonFault::JsonFault(JsonFaultKind fault_kind, std::size_t fault_offset, std::string fault_detail)
    : kind(fault_kind), offset(fault_offset), detail(std::move(fault_detail)) {}

const char* JsonFault::what() const noexcept {
  switch (kind) {
    case JsonFaultKind::syntax:
      return "syntax error";
    case JsonFaultKind::duplicate_key:
      return "duplicate key";
    case JsonFaultKind::invalid_utf8:
      return "invalid UTF-8";
    case JsonFaultKind::lone_surrogate:
      return "lone surrogate";
    case JsonFaultKind::too_deep:
      return "nested too deeply";
    case JsonFaultKind::number_range:
      return "number out of range";
  }
  return "";
}

std::string hint_for(const JsonFault& fault, std::string_view text) {
  switch (fault.kind) {
    case JsonFaultKind::syntax:
      return hint_for_syntax(text, fault.offset, fault.detail);
    case JsonFaultKind::duplicate_key:
      return "keep one of the two members";
    case JsonFaultKind::invalid_utf8:
      return "convert the input to UTF-8";
    case JsonFaultKind::lone_surrogate:
      return "write the character as UTF-8, or as both halves of its surrogate pair";
    case JsonFaultKind::too_deep:
      return fmt::format("nest at most {} objects and arrays", max_depth);
    case JsonFaultKind::number_range:
      return "write numbers beyond the range of a double as strings";
  }
  return {};
}

nlohmann::json parse_strict(std::string_view text, BigIntegers big_integers) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") {
    throw JsonFault(JsonFaultKind::syntax, 0, "a byte order mark");
  }
  const char* reached = text.data();
  TreeBuilder builder(text, &reached, big_integers, true);
  parse_with(builder, text, reached);
  // The parser would treat a NUL as the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw JsonFault(JsonFaultKind::syntax, nul, "a NUL byte");
  }
  return builder.take();
}

JsonPlace place_of(std::string_view text, const std::string& pointer) {
  const char* reached = text.data();
  TreeBuilder builder(text, &reached, BigIntegers::as_doubles, true);
  builder.look_for(json::json_pointer(pointer));
  parse_with(builder, text, reached);
  return builder.place();
}

nlohmann::json parse_stored(std::string_view text) {
  const char* reached = text.data() + text.size();
  TreeBuilder builder(text, &reached, BigIntegers::with_all_digits, false);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

std::optional<std::string> big_integer(const nlohmann::json& value) {
  if (value.is_binary()) {
    return std::string(value.get_binary().begin(), value.get_binary().end());
  }
  const bool is_big = value.is_number_unsigned() &&
                      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  return is_big ? std::optional(std::to_string(value.get<std::uint64_t>())) : std::nullopt;
}

Position position_after(std::string_view text, Position start) {
  const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  if (lines == 0) {
    return {start.line, start.column + text.size()};
  }
  return {start.line + lines, text.size() - text.rfind('\n')};
}

}  // namespace looseleaf::model

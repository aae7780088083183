// From simdjson's document to nlohmann's.
#include "model/fast_json.hpp"

#include <simdjson.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "base/pool.hpp"
#include "model/strict_json.hpp"

namespace looseleaf::model {
namespace {

using nlohmann::json;
using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::size_t longest = 64 * 1024;  // bytes; a parser takes 15 times as much

// While one of these is there, what finds no memory is given some that was set aside. One at a time.
class Reserve {
 public:
  Reserve() : lock_(mutex), before_(std::get_new_handler()) {
    block = std::malloc(reserve_size);
    if (block == nullptr) {
      throw std::bad_alloc();
    }
    std::set_new_handler([] {
      void* const rest = block.exchange(nullptr);
      if (rest == nullptr) {
        throw std::bad_alloc();
      }
      std::free(rest);
    });
  }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  ~Reserve() {
    std::set_new_handler(before_);
    std::free(block.exchange(nullptr));
  }

 private:
  static constexpr std::size_t reserve_size = 2 * 1024 * 1024;  // bytes, more than a parser takes
  static inline std::mutex mutex;
  static inline std::atomic<void*> block;

  std::lock_guard<std::mutex> lock_;
  std::new_handler before_;
};

// A parser with all the memory that it will ever need. simdjson ends the process if it finds none when it looks, at
// first use, for the processor's best code, or in the midst of setting a parser up.
class Parser {
 public:
  Parser() : text_(new char[longest + simdjson::SIMDJSON_PADDING]) {
    const Reserve reserve;
    if (parser_.allocate(longest, deepest) != simdjson::SUCCESS) {
      throw std::bad_alloc();
    }
  }

  // Valid until the next one.
  simdjson::simdjson_result<element> parse(std::string_view text) {
    std::memcpy(text_.get(), text.data(), text.size());
    return parser_.parse(text_.get(), text.size(), false);
  }

 private:
  static constexpr std::size_t deepest = 2 * max_depth;  // convert() knows the limit

  std::unique_ptr<char[]> text_;
  simdjson::dom::parser parser_;
};

base::Pool<Parser>& parsers() {
  static base::Pool<Parser> instance;
  return instance;
}

// simdjson lets some halves of a surrogate pair pass that stand alone.
bool has_escaped_surrogate(std::string_view text) {
  for (std::size_t at = text.find("\\u"); at != std::string_view::npos; at = text.find("\\u", at + 2)) {
    if (at + 2 < text.size() && (text[at + 2] == 'd' || text[at + 2] == 'D')) {
      return true;
    }
  }
  return false;
}

bool convert(const element& from, std::size_t depth, json& to);

bool convert_object(const simdjson::dom::object& from, std::size_t depth, json& to) {
  to = json::object();
  auto& members = to.get_ref<json::object_t&>();
  for (const auto& [key, value] : from) {
    const auto [member, is_new] = members.emplace(std::string(key), nullptr);
    if (!is_new || !convert(value, depth + 1, member->second)) {
      return false;
    }
  }
  return true;
}

bool convert_array(const simdjson::dom::array& from, std::size_t depth, json& to) {
  to = json::array();
  auto& elements = to.get_ref<json::array_t&>();
  for (const element value : from) {
    if (!convert(value, depth + 1, elements.emplace_back())) {
      return false;
    }
  }
  return true;
}

// False if a limit or a rule of parse_strict() is broken; `depth` objects and arrays are open around the value.
bool convert(const element& from, std::size_t depth, json& to) {
  switch (from.type()) {
    case element_type::OBJECT:
      return depth < max_depth && convert_object(from.get_object().value_unsafe(), depth, to);
    case element_type::ARRAY:
      return depth < max_depth && convert_array(from.get_array().value_unsafe(), depth, to);
    case element_type::STRING:
      to = std::string(from.get_string().value_unsafe());
      return true;
    case element_type::INT64: {
      const std::int64_t value = from.get_int64().value_unsafe();
      to = value < 0 ? json(value) : json(static_cast<std::uint64_t>(value));  // as nlohmann tells them apart
      return true;
    }
    case element_type::UINT64:
      to = from.get_uint64().value_unsafe();
      return true;
    case element_type::DOUBLE:
      to = from.get_double().value_unsafe();
      return std::isfinite(to.get<double>());
    case element_type::BOOL:
      to = from.get_bool().value_unsafe();
      return true;
    case element_type::NULL_VALUE:
      to = nullptr;
      return true;
  }
  return false;
}

}  // namespace

std::optional<Json> parse_fast(std::string_view text) {
  if (text.empty() || text.size() > longest || has_escaped_surrogate(text)) {
    return std::nullopt;
  }
  const base::Pool<Parser>::Loan parser(parsers());
  element root;
  if (parser->parse(text).get(root) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  std::optional<Json> value(std::in_place);
  if (!convert(root, 0, *value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace looseleaf::model

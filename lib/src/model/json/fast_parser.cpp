// Selects the texts that it may parse.
#include "model/json/fast_parser.hpp"

#include <cstring>
#include <new>

#include "model/json/strict_json.hpp"

namespace looseleaf::model {
namespace {

constexpr std::size_t longest = 64 * 1024;      // in bytes; a parser needs 15 times as much memory
constexpr std::size_t deepest = 2 * max_depth;  // callers with a lower limit check it themselves

// True if the text may have escaped surrogates. simdjson accepts some lone ones.
bool has_escaped_surrogate(std::string_view text) {
  for (std::size_t at = text.find("\\u"); at != std::string_view::npos; at = text.find("\\u", at + 2)) {
    if (at + 2 < text.size() && (text[at + 2] == 'd' || text[at + 2] == 'D')) {
      return true;
    }
  }
  return false;
}

}  // namespace

FastParser::FastParser() : text_(new char[longest + simdjson::SIMDJSON_PADDING]) {
  if (parser_.allocate(longest, deepest) != simdjson::SUCCESS) {
    throw std::bad_alloc();
  }
}

std::optional<simdjson::dom::element> FastParser::parse(std::string_view text) {
  if (text.empty() || text.size() > longest || has_escaped_surrogate(text)) {
    return std::nullopt;
  }
  std::memcpy(text_.get(), text.data(), text.size());
  simdjson::dom::element root;
  if (parser_.parse(text_.get(), text.size(), false).get(root) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return root;
}

base::Pool<FastParser>& FastParser::pool() {
  static base::Pool<FastParser> instance;
  return instance;
}

}  // namespace looseleaf::model

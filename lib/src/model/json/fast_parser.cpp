// Selects the texts that it may parse.
#include "model/json/fast_parser.hpp"

#include <cstring>
#include <new>

#include "model/json/strict_json.hpp"

namespace looseleaf::model {
namespace {

constexpr std::size_t longest = 64 * 1024;      // in bytes; a parser needs 15 times as much memory
constexpr std::size_t deepest = 2 * max_depth;  // callers with a lower limit check it themselves

// True if the text goes on with an escaped surrogate, of which the third digit of four is one of these.
bool is_surrogate(std::string_view text, std::string_view digits) {
  return text.size() >= 6 && text.starts_with("\\u") && (text[2] == 'd' || text[2] == 'D') &&
         digits.find(text[3]) != std::string_view::npos;
}

// True if the text may have an escaped surrogate that is not one of a pair. simdjson accepts some of those. An escaped
// backslash before a `u` counts as well.
bool may_have_lone_surrogate(std::string_view text) {
  constexpr std::string_view of_first = "89abAB", of_second = "cdefCDEF";
  for (std::size_t at = text.find("\\u"); at != std::string_view::npos; at = text.find("\\u", at + 2)) {
    const std::string_view rest = text.substr(at);
    if (is_surrogate(rest, of_first) && is_surrogate(rest.substr(6), of_second) && (at == 0 || text[at - 1] != '\\')) {
      at += 6;
    } else if (is_surrogate(rest, of_first) || is_surrogate(rest, of_second)) {
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
  // Some versions of simdjson skip a byte order mark, which is not JSON.
  if (text.empty() || text.size() > longest || text.starts_with("\xEF\xBB\xBF") || may_have_lone_surrogate(text)) {
    return std::nullopt;
  }
  std::memcpy(text_.get(), text.data(), text.size());
  simdjson::dom::element root;
  if (parser_.parse(text_.get(), text.size(), false).get(root) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return root;
}

}  // namespace looseleaf::model

// Small text helpers.
#include "base/text.hpp"

#include <algorithm>
#include <iterator>

namespace looseleaf::base {
namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// The number of bytes of a sequence that begins with `lead`, and the smallest and largest second byte. The size is 0 if
// no sequence begins with it (Unicode, table 3-7).
struct Utf8Form {
  std::size_t size = 0;
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xBF;
};

Utf8Form utf8_form(unsigned char lead) {
  if (lead < 0x80) {
    return {1};
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return {2};
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    return {3, static_cast<unsigned char>(lead == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(lead == 0xED ? 0x9F : 0xBF)};
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    return {4, static_cast<unsigned char>(lead == 0xF0 ? 0x90 : 0x80),
            static_cast<unsigned char>(lead == 0xF4 ? 0x8F : 0xBF)};
  }
  return {};
}

}  // namespace

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : text) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3U;
  }
  return hash;
}

std::string_view utf8_prefix(std::string_view text, std::size_t code_points) {
  if (text.size() <= code_points) {
    return text;
  }
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_continuation(text[i]) && seen++ == code_points) {
      return text.substr(0, i);
    }
  }
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Form form = utf8_form(static_cast<unsigned char>(text[0]));
    if (form.size == 0 || text.size() < form.size) {
      return false;
    }
    for (std::size_t i = 1; i < form.size; ++i) {
      if (!is_continuation(text[i])) {
        return false;
      }
    }
    if (form.size > 1) {
      const auto second = static_cast<unsigned char>(text[1]);
      if (second < form.second_min || second > form.second_max) {
        return false;
      }
    }
    text.remove_prefix(form.size);
  }
  return true;
}

std::size_t utf8_length(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

bool beyond_bmp(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xF0; });
}

std::string read_at_most(std::istream& in, std::size_t bytes) {
  std::string text;
  for (std::istreambuf_iterator<char> next(in), end; next != end && text.size() < bytes; ++next) {
    text += *next;
  }
  return text;
}

char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return ascii_lower(c); });
  return out;
}

std::optional<std::string> utf8_successor(std::string_view text) {
  constexpr std::string_view last_code_point = "\xF4\x8F\xBF\xBF";
  std::string prefix(text);
  while (prefix.ends_with(last_code_point)) {
    prefix.resize(prefix.size() - last_code_point.size());
  }
  if (prefix.empty()) {
    return std::nullopt;
  }
  // Increments the last code point. Continuation bytes are 80 to BF; the special cases keep the result valid.
  std::size_t at = prefix.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(prefix[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  const std::string_view code_point = std::string_view(prefix).substr(at);
  std::string next;
  if (code_point == "\x7F") {
    next = "\xC2\x80";
  } else if (code_point == "\xDF\xBF") {
    next = "\xE0\xA0\x80";
  } else if (code_point == "\xED\x9F\xBF") {
    next = "\xEE\x80\x80";  // skips the surrogates
  } else if (code_point == "\xEF\xBF\xBF") {
    next = "\xF0\x90\x80\x80";
  } else {
    next = code_point;
    for (std::size_t i = next.size(); i-- > 0;) {
      if (i > 0 && static_cast<unsigned char>(next[i]) == 0xBFU) {
        next[i] = static_cast<char>(0x80);
        continue;
      }
      next[i] = static_cast<char>(next[i] + 1);
      break;
    }
  }
  return prefix.substr(0, at) + next;
}

std::string_view trimmed(std::string_view text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
  return text.substr(0, text.find_last_not_of(characters) + 1);
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) {
    return text;
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + "'";
}

}  // namespace looseleaf::base

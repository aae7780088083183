// Sizes and escapes for terminals.
#include "cli/terminal/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace looseleaf::cli {
namespace {

using CharacterRange = std::pair<char32_t, char32_t>;

constexpr std::array<CharacterRange, 6> escaped_ranges = {{
    {0x00, 0x1F},      // C0
    {0x7F, 0x9F},      // DEL and C1
    {0x61C, 0x61C},    // the Arabic letter mark
    {0x200E, 0x200F},  // marks of direction
    {0x2028, 0x202E},  // separators, embeddings and overrides
    {0x2066, 0x2069},  // isolates
}};

constexpr std::array<CharacterRange, 4> narrow_ranges = {
    {{0x300, 0x36F}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

constexpr std::array<CharacterRange, 10> wide_ranges = {{{0x1100, 0x115F},
                                                         {0x2E80, 0xA4CF},
                                                         {0xAC00, 0xD7A3},
                                                         {0xF900, 0xFAFF},
                                                         {0xFE30, 0xFE6F},
                                                         {0xFF00, 0xFF60},
                                                         {0xFFE0, 0xFFE6},
                                                         {0x1F300, 0x1F64F},
                                                         {0x1F900, 0x1F9FF},
                                                         {0x20000, 0x3FFFD}}};

template <typename Ranges>
bool is_in(const Ranges& ranges, char32_t value) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const CharacterRange& range) { return value >= range.first && value <= range.second; });
}

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with UTF-8
};

// The text must not be empty.
CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80U) {
    return {lead, 1};
  }
  const std::size_t bytes = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (lead < 0xC2U || lead > 0xF4U || text.size() < bytes) {
    return {};
  }
  char32_t value = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return {};
    }
    value = value << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  return value < least.at(bytes) ? CodePoint{} : CodePoint{value, bytes};
}

std::size_t columns_of(const CodePoint& point) {
  if (is_in(narrow_ranges, point.value)) {
    return 0;
  }
  return is_in(wide_ranges, point.value) ? 2 : 1;
}

}  // namespace

bool understands_escapes(int fd) {
  const char* kind = std::getenv("TERM");
  const std::string_view name = kind != nullptr ? kind : "";
  return ::isatty(fd) == 1 && !name.empty() && name != "dumb";
}

TerminalSize terminal_size(int fd) {
  winsize size{};
  const bool known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  return known ? TerminalSize{size.ws_col, size.ws_row} : TerminalSize{};
}

std::string escape_controls(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::size_t bytes = std::max<std::size_t>(point.bytes, 1);
    if (point.bytes == 0) {
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (is_in(escaped_ranges, point.value)) {
      escaped += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(point.value));
    } else {
      escaped += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return escaped;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    width += columns_of(point);
    text.remove_prefix(std::max<std::size_t>(point.bytes, 1));
  }
  return width;
}

std::string_view beginning_of_width(std::string_view text, std::size_t columns) {
  std::size_t width = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const CodePoint point = first_code_point(text.substr(end));
    width += columns_of(point);
    if (width > columns) {
      break;
    }
    end += std::max<std::size_t>(point.bytes, 1);
  }
  return text.substr(0, end);
}

}  // namespace looseleaf::cli

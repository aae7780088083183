// The stream of entities: however it arrives, every byte comes back in a piece or is white space or punctuation of an
// array, and what is well-formed comes back whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <looseleaf/entity_reader.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "model/json/strict_json.hpp"
#include "tests/fuzz/oracle.hpp"

namespace {

using namespace looseleaf;
using fuzz::require;
using nlohmann::json;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

struct Outcome {
  std::vector<Piece> pieces;
  bool stopped_early = false;
};

// Pseudo-random steps from 1 to `most` bytes.
Outcome read_all(std::string_view input, std::size_t most) {
  std::uint64_t random = base::fnv1a(input);
  std::size_t at = 0;
  EntityReader reader([&](char* buffer, std::size_t size) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const std::size_t count = std::min({size, 1 + (random >> 33U) % most, input.size() - at});
    std::copy_n(input.data() + at, count, buffer);
    at += count;
    return count;
  });
  Outcome outcome;
  while (std::optional<Piece> piece = reader.next()) {
    outcome.pieces.push_back(*std::move(piece));
  }
  outcome.stopped_early = reader.stopped_early();
  return outcome;
}

bool same(const Piece& a, const Piece& b) {
  return a.text == b.text && a.position == b.position && a.reject == b.reject && a.more == b.more &&
         (a.reject.empty() || a.reject_position == b.reject_position);
}

// Where a position is in the text behind the byte order mark.
std::size_t offset_of(std::string_view text, Position position) {
  std::size_t begin = 0;
  for (std::uint64_t line = 1; line < position.line; ++line) {
    begin = text.find('\n', begin);
    require(begin != std::string_view::npos, "a position is on a line of the input");
    ++begin;
  }
  const std::size_t offset = begin + position.column - 1;
  require(position.column >= 1 && offset <= std::min(text.find('\n', begin), text.size()), "a position is on its line");
  return offset;
}

bool is_between_pieces(std::string_view text) {
  return text.find_first_not_of(" \t\r\n[],") == std::string_view::npos;
}

void check_nothing_lost(std::string_view text, const Outcome& outcome) {
  std::size_t done = 0;
  for (const Piece& piece : outcome.pieces) {
    const std::size_t begin = offset_of(text, piece.position);
    require(begin >= done && is_between_pieces(text.substr(done, begin - done)), "no byte is lost before a piece");
    require(text.substr(begin, piece.text.size()) == piece.text, "a piece is what stands at its position");
    done = begin + piece.text.size();
    if (piece.reject.empty()) {
      require(piece.text.starts_with('{') && piece.text.ends_with('}'), "a piece that may be an entity is an object");
    } else {
      require(offset_of(text, piece.reject_position) >= begin, "a complaint is not before its piece");
    }
  }
  require(outcome.stopped_early || is_between_pieces(text.substr(done)), "no byte is lost at the end");
}

std::optional<json> strictly(std::string_view text) {
  try {
    return model::parse_strict(text);
  } catch (const model::JsonFault&) {
    return std::nullopt;
  }
}

void check_values(const Outcome& outcome, const std::vector<json>& values) {
  require(!outcome.stopped_early && outcome.pieces.size() == values.size(), "well-formed input gives a piece a value");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Piece& piece = outcome.pieces[i];
    require(piece.reject.empty() == values[i].is_object(), "objects, and nothing else, may be entities");
    require(strictly(piece.text) == values[i], "a piece is its value");
  }
}

// The values of the lines, if every line holds one object or none.
std::optional<std::vector<json>> json_lines(const std::string& text) {
  std::vector<json> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    std::optional<json> value = strictly(line);
    if (!value || !value->is_object()) {
      return std::nullopt;
    }
    values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const Outcome outcome = read_all(input, 65536);
  const Outcome slowly = read_all(input, 3);
  require(std::equal(outcome.pieces.begin(), outcome.pieces.end(), slowly.pieces.begin(), slowly.pieces.end(), same) &&
              outcome.stopped_early == slowly.stopped_early,
          "it does not matter in what portions the input arrives");

  const std::string text = input.substr(input.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
  check_nothing_lost(text, outcome);
  if (const std::optional<std::vector<json>> values = json_lines(text)) {
    check_values(outcome, *values);
  }
  if (const std::optional<json> value = strictly(text); value && value->is_structured()) {
    check_values(outcome, value->is_array() ? value->get<std::vector<json>>() : std::vector<json>{*value});
  }
  return 0;
}

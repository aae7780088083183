// The reader of CSV: records, cells, positions and faults, whatever pieces the input comes in.
#include "cli/files/csv_reader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace looseleaf;
using namespace looseleaf::cli;

namespace {

// Every record on a line: its position, its cells (in quotes if they were), and its fault with its position.
std::string read_all(std::string_view csv, std::size_t at_once) {
  CsvReader reader([&](char* buffer, std::size_t size) {
    const std::string_view piece = csv.substr(0, std::min(size, at_once));
    std::copy(piece.begin(), piece.end(), buffer);
    csv.remove_prefix(piece.size());
    return piece.size();
  });
  std::string all;
  while (const auto record = reader.next()) {
    const auto place = [](const Position& position) {
      return std::to_string(position.line) + ":" + std::to_string(position.column);
    };
    all += place(record->position);
    for (const CsvCell& cell : record->cells) {
      CHECK(record->text.substr(cell.offset).starts_with(cell.quoted ? "\"" : cell.text));
      all += " " + place(cell.position) + (cell.quoted ? "'" + cell.text + "'" : "[" + cell.text + "]");
    }
    if (record->fault) {
      all += " <" + record->text + "> " + record->fault->what + " " + place(record->fault->position);
      all += record->fault->closed ? " closed " + place(*record->fault->closed) : "";
      all += record->fault->last_line ? " until " + std::to_string(*record->fault->last_line) : "";
    }
    all += record->crlf ? "\\r" : "";
    all += "|";
  }
  return all;
}

}  // namespace

TEST_CASE("CSV is divided into records and cells with their positions, in whatever pieces it comes") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"\n\r\n", ""},
      {"a", "1:1 1:1[a]|"},
      {"a,b\r\n,\r\n", "1:1 1:1[a] 1:3[b]\\r|2:1 2:1[] 2:2[]\\r|"},
      {"\xEF\xBB\xBF\"a\"", "1:1 1:1'a'|"},
      {"\xEF\xBC\xA1", "1:1 1:1[\xEF\xBC\xA1]|"},  // begins like a byte order mark
      {"\"a,\"\"b\"\"\r\nc\",\"\"\nd", "1:1 1:1'a,\"b\"\r\nc' 2:4''|3:1 3:1[d]|"},
      {"a\rb,c\r", "1:1 1:1[a\rb] 1:5[c\r]|"},
      {"\"a\"b,c\nd", "1:1 <\"a\"b,c> text behind a closing quote 1:4|2:1 2:1[d]|"},
      {"\"a\nb\"c,d\ne", "1:1 <\"a\nb\"c,d> text behind a closing quote 1:1 closed 2:2|3:1 3:1[e]|"},
      {"a\"b\",c\r\nd", "1:1 <a\"b\",c> a quote inside a cell 1:2\\r|2:1 2:1[d]|"},
      {"a,\"b\r\nc,\"\"\nd", "1:1 <a,\"b> a quote is not closed 1:3\\r|2:1 2:1[c] 2:3''|3:1 3:1[d]|"},
      {"a,\"b", "1:1 <a,\"b> a quote is not closed 1:3|"},
      {"\"\n\"\n\"", "1:1 1:1'\n'|3:1 <\"> a quote is not closed 3:1|"},
  };
  for (const auto& [csv, expected] : cases) {
    for (const std::size_t at_once : {1, 2, 3, 1000}) {
      CAPTURE(csv);
      CAPTURE(at_once);
      CHECK(read_all(csv, at_once) == expected);
    }
  }
}

TEST_CASE("a record of very many cells is too long, and the next one is read, not a line inside of its quotes") {
  const std::string cells = std::string(200'000, ',') + "\"a\nb,c\nd\"";
  CHECK(read_all(cells + "\na,b", 1000) ==
        "1:1 <" + cells + "> a line is too long 1:100001 until 3|4:1 4:1[a] 4:3[b]|");
}

// As in a line that is not too long.
TEST_CASE("a quote inside a cell of a line that is too long does not make the next lines a part of it") {
  for (const std::string rest : {"x\"", "\"\"x\"", "\"a\"\"\"x\"", "5\" pipe,\"a\nb\""}) {
    CAPTURE(rest);
    const std::string line = std::string(200'000, ',') + rest;
    const bool two = rest.find('\n') != std::string::npos;
    CHECK(read_all(line + "\na\n\"b\"", 1000) ==
          "1:1 <" + line + "> a line is too long 1:100001" +
              (two ? " until 2|3:1 3:1[a]|4:1 4:1'b'|" : "|2:1 2:1[a]|3:1 3:1'b'|"));
  }
}

// Its inner lines must not become records.
TEST_CASE("a cell in quotes that is too long is skipped up to the line in which it ends") {
  std::string cell;
  while (cell.size() < (41U << 20U)) {
    cell += "a line of this cell with \"\"quotes\"\" that are doubled\n";
  }
  const std::string csv = "1,\"" + cell + "\",\"\n\",x\nc,d\n";
  const std::string all = read_all(csv, 1U << 16U);
  CHECK(all.find("> a cell in quotes is too long 1:3|") != std::string::npos);
  const auto lines = std::count(csv.begin(), csv.end(), '\n');
  CHECK(all.find(" until " + std::to_string(lines - 1) + "|") != std::string::npos);
  CHECK(all.ends_with("[c] " + std::to_string(lines) + ":3[d]|"));
  CHECK(std::count(all.begin(), all.end(), '[') == 2);
}

TEST_CASE("a line is too long if its cells are so together, and none of them is") {
  const std::string cell = "\"" + std::string(15U << 20U, 'x') + "\"";
  const std::string all = read_all(cell + "," + cell + "," + cell + "\nc,d\n", 1U << 16U);
  CHECK(all.find("> a line is too long 1:31457287|") != std::string::npos);
  CHECK(all.ends_with("|2:1 2:1[c] 2:3[d]|"));
}

TEST_CASE("a line that is longer than any entity comes in parts, and the next line is read") {
  const std::string part(41 << 20, 'x');
  std::string csv = "a," + part + "\"" + part + ",b\nc,d\n";
  std::size_t at = 0;
  CsvReader reader([&](char* buffer, std::size_t size) {
    const std::size_t taken = csv.copy(buffer, size, at);
    at += taken;
    return taken;
  });
  std::string text;
  for (bool more = true; more;) {
    const auto record = reader.next();
    REQUIRE(record);
    REQUIRE(record->fault);
    CHECK(record->fault->what == (text.empty() ? "a line is too long" : ""));
    text += record->text;
    more = record->fault->more;
  }
  CHECK(text + "\nc,d\n" == csv);
  CHECK(reader.next()->cells.size() == 2);
  CHECK_FALSE(reader.next());
}

// Reads CSV as RFC 4180 describes it, record by record, with the position of every cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <looseleaf/entity_reader.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::cli {

struct CsvCell {
  std::string text = {};   // without quotes
  bool quoted = false;     // an empty cell in quotes differs from one without
  Position position = {};  // of the first byte, which may be a quote
  std::size_t offset = 0;  // the same in the record's text
};

// A record. With a fault it cannot be read, and has no cells.
struct CsvRecord {
  std::string text;   // as it was read, without the line break at its end
  bool crlf = false;  // the line break was CRLF
  Position position;
  std::vector<CsvCell> cells;
  struct Fault {
    std::string what, hint;
    Position position;
    std::optional<Position> closed = {};          // where a quote was closed that was opened on an earlier line
    bool more = false;                            // the text is long, and continues in the next record
    std::optional<std::uint64_t> last_line = {};  // of a long text of several lines, at its end, as the hint is then
  };
  std::optional<Fault> fault;
};

// Cells are separated by commas, lines end in LF or CRLF. An empty line is skipped, and so is a byte order mark.
class CsvReader {
 public:
  explicit CsvReader(EntityReader::Source source) : source_(std::move(source)) {}

  // Returns the next record; nothing at the end of the input. After a faulty record, reading resumes at the next line,
  // which is that after the closing quote if a cell in quotes is too long. Memory use: one record (at most 40 MiB and
  // 100,000 cells) and a read buffer.
  [[nodiscard]] std::optional<CsvRecord> next();

 private:
  [[nodiscard]] bool next_is(std::string_view bytes);
  [[nodiscard]] int peek();
  void take(std::string* cell);
  void skip_line_breaks();
  [[nodiscard]] bool at_line_break();
  // Returns true for CRLF.
  bool take_line_break();

  // These return false after a fault.
  bool read_cell(CsvRecord& record);
  bool read_quoted(CsvRecord& record, CsvCell& cell);
  bool read_plain(CsvRecord& record, CsvCell& cell);

  static void fail(CsvRecord& record, Position position, const char* what, const char* hint);
  // The fault is that of a cell, or of the record.
  void reject_long(CsvRecord& record, Position position, bool inside_quotes, bool for_a_cell = false);
  void take_rest_of_line(CsvRecord& record);
  void take_quote();
  void end_long_record(CsvRecord& record);
  void put_back_later_lines(CsvRecord& record);

  EntityReader::Source source_;
  std::string buffer_;
  std::size_t at_ = 0;
  bool ended_ = false;
  bool begun_ = false;
  bool inside_line_ = false;  // of a faulty record that continues
  // In a record that is too long: whether the next byte is inside quotes; absent if quotes do not count.
  std::optional<bool> inside_quotes_;
  char last_byte_ = 0;
  std::uint64_t first_line_ = 0;  // of the current record
  Position position_;
  std::string text_;  // of the current record
};

}  // namespace looseleaf::cli

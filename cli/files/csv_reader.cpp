// Reads CSV one byte at a time.
#include "cli/files/csv_reader.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/files/files.hpp"

namespace looseleaf::cli {
namespace {

constexpr int end_of_input = -1;
constexpr std::size_t read_size = 64 * 1024;
constexpr std::size_t longest_record = 40 << 20;  // more than an entity can have if all its quotes are doubled
constexpr std::size_t most_cells = 100'000;       // in a record
constexpr const char* hint_for_quotes =
    "enclose a cell that contains a quote in quotes, and double each quote inside: \"5\"\" pipe\"";

}  // namespace

// Returns true if the input goes on with these bytes.
bool CsvReader::next_is(std::string_view bytes) {
  while (buffer_.size() - at_ < bytes.size() && !ended_) {
    buffer_.erase(0, std::exchange(at_, 0));
    const std::size_t size = buffer_.size();
    buffer_.resize(size + read_size);
    const std::size_t got = source_(buffer_.data() + size, read_size);
    buffer_.resize(size + got);
    ended_ = got == 0;
  }
  return std::string_view(buffer_).substr(at_).starts_with(bytes);
}

int CsvReader::peek() {
  if (at_ == buffer_.size()) {
    static_cast<void>(next_is(" "));  // reads on
  }
  return at_ == buffer_.size() ? end_of_input : static_cast<unsigned char>(buffer_[at_]);
}

// Takes the byte that peek() has shown, and appends it to the cell, if there is one.
void CsvReader::take(std::string* cell) {
  const char byte = buffer_[at_++];
  last_byte_ = byte;
  text_ += byte;
  if (cell != nullptr) {
    *cell += byte;
  }
  position_ = byte == '\n' ? Position{position_.line + 1, 1} : Position{position_.line, position_.column + 1};
}

bool CsvReader::at_line_break() {
  const int byte = peek();
  return byte == '\n' || byte == end_of_input || (byte == '\r' && next_is("\r\n"));
}

// Takes the line break that at_line_break() has seen, without adding it to the text.
bool CsvReader::take_line_break() {
  const std::size_t size = text_.size();
  const bool crlf = peek() == '\r';
  if (crlf) {
    take(nullptr);
  }
  if (peek() == '\n') {
    take(nullptr);
  }
  text_.resize(size);
  return crlf;
}

void CsvReader::skip_line_breaks() {
  while (peek() != end_of_input && at_line_break()) {
    static_cast<void>(take_line_break());
  }
}

std::optional<CsvRecord> CsvReader::next() {
  if (!std::exchange(begun_, true) && next_is(byte_order_mark)) {
    at_ += byte_order_mark.size();
  }
  if (!inside_line_) {
    skip_line_breaks();
  }
  CsvRecord record;
  record.position = position_;
  if (peek() == end_of_input) {
    return std::nullopt;
  }
  if (inside_line_) {
    record.fault.emplace();
    take_rest_of_line(record);
    return record;
  }
  first_line_ = position_.line;
  while (read_cell(record)) {
    if (peek() != ',') {
      record.crlf = take_line_break();
      record.text = std::exchange(text_, {});
      return record;
    }
    take(nullptr);
    if (record.cells.size() == most_cells || text_.size() > longest_record) {
      reject_long(record, position_, false);
      return record;
    }
  }
  return record;
}

bool CsvReader::read_cell(CsvRecord& record) {
  CsvCell& cell = record.cells.emplace_back();
  cell.position = position_;
  cell.offset = text_.size();
  cell.quoted = peek() == '"';
  return cell.quoted ? read_quoted(record, cell) : read_plain(record, cell);
}

bool CsvReader::read_quoted(CsvRecord& record, CsvCell& cell) {
  take(nullptr);
  for (;;) {
    const int byte = peek();
    if (byte == end_of_input) {
      fail(record, cell.position, "a quote is not closed", hint_for_quotes);
      put_back_later_lines(record);
      return false;
    }
    if (text_.size() > longest_record) {
      reject_long(record, cell.position, true, text_.size() - cell.offset > longest_record / 2);
      return false;
    }
    if (byte != '"') {
      take(&cell.text);
      continue;
    }
    take(nullptr);
    if (peek() != '"') {
      break;
    }
    take(&cell.text);
  }
  if (peek() == ',' || at_line_break()) {
    return true;
  }
  const Position closed = {position_.line, position_.column - 1}, opened = cell.position;
  const bool on_one_line = opened.line == closed.line;
  fail(record, on_one_line ? position_ : opened, "text behind a closing quote", hint_for_quotes);
  if (!on_one_line) {
    record.fault->closed = closed;
  }
  take_rest_of_line(record);
  return false;
}

bool CsvReader::read_plain(CsvRecord& record, CsvCell& cell) {
  while (peek() != ',' && !at_line_break()) {
    if (peek() == '"') {
      fail(record, position_, "a quote inside a cell", hint_for_quotes);
      take_rest_of_line(record);
      return false;
    }
    if (text_.size() > longest_record) {
      reject_long(record, position_, false);
      return false;
    }
    take(&cell.text);
  }
  return true;
}

void CsvReader::fail(CsvRecord& record, Position position, const char* what, const char* hint) {
  record.fault = {what, hint, position};
  record.cells.clear();
}

void CsvReader::reject_long(CsvRecord& record, Position position, bool inside_quotes, bool for_a_cell) {
  for_a_cell ? fail(record, position, "a cell in quotes is too long", "check whether its closing quote is missing")
             : fail(record, position, "a line is too long", "check whether the input is CSV");
  inside_quotes_ = inside_quotes;
  take_rest_of_line(record);
}

// Ends a faulty record at the end of its last line. If there is too much of it, the next record continues it.
void CsvReader::take_rest_of_line(CsvRecord& record) {
  const auto ends = [&] { return inside_quotes_.value_or(false) ? peek() == end_of_input : at_line_break(); };
  while (!ends() && text_.size() <= longest_record) {
    if (inside_quotes_ && peek() == '"') {
      take_quote();
    } else {
      take(nullptr);
    }
  }
  inside_line_ = !ends();
  record.fault->more = inside_line_;
  if (!inside_line_) {
    if (inside_quotes_) {
      end_long_record(record);
    }
    record.crlf = take_line_break();
  }
  record.text = std::exchange(text_, {});
}

// As in a record that can be read: a quote opens a cell only behind a comma, and two of them do not close it.
void CsvReader::take_quote() {
  const bool opens = last_byte_ == ',';
  take(nullptr);
  if (*inside_quotes_ && peek() == '"') {
    take(nullptr);
  } else {
    inside_quotes_ = !*inside_quotes_ && opens;
  }
}

void CsvReader::end_long_record(CsvRecord& record) {
  const std::uint64_t last_line = position_.column == 1 ? position_.line - 1 : position_.line;
  if (last_line > first_line_) {
    record.fault->last_line = last_line;
  }
  if (*inside_quotes_) {
    record.fault->hint =
        fmt::format("close the quote; nothing of this input from line {} on is stored without that", first_line_);
  }
  inside_quotes_.reset();
}

// Ends a faulty record at the end of its first line, because those behind it are probably not part of it.
void CsvReader::put_back_later_lines(CsvRecord& record) {
  const std::size_t end = text_.find('\n');
  if (end == std::string::npos) {
    take_rest_of_line(record);
    return;
  }
  buffer_.replace(0, at_, text_, end + 1);
  at_ = 0;
  position_ = {record.position.line + 1, 1};
  record.crlf = end > 0 && text_[end - 1] == '\r';
  text_.resize(record.crlf ? end - 1 : end);
  record.text = std::exchange(text_, {});
}

}  // namespace looseleaf::cli

// Splits a byte stream into entity texts. The input is JSON objects: one per line, one after another, or in one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <looseleaf/export.hpp>
#include <memory>
#include <optional>
#include <string>

namespace looseleaf {

// A position in the input. Line and column start at 1; columns count bytes.
struct Position {
  std::uint64_t line = 1;
  std::uint64_t column = 1;

  bool operator==(const Position&) const = default;
};

// A part of the input. An ordinary piece is the text of one object that is not parsed yet; parsing it can still fail.
struct Piece {
  std::string text;           // the text as it was read, without surrounding white space
  Position position;          // the position of the first byte
  std::string reject;         // not empty: why this is no entity ("body too large", "text between entities", ...)
  Position reject_position;   // the position of the fault; meaningful with `reject`
  std::string reject_detail;  // more facts about the fault; may be empty, like the hint
  std::string reject_hint;    // how to correct it
  bool more = false;          // with `reject`: the text is too long for one piece and continues in the next piece
};

class LOOSELEAF_EXPORT EntityReader {
 public:
  // Writes at least one byte to the buffer and returns the number of bytes, or 0 at the end of input. It may block, as
  // read(2) does. Throws Error(io) on failure.
  using Source = std::function<std::size_t(char* buffer, std::size_t size)>;

  explicit EntityReader(Source source);
  EntityReader(EntityReader&&) noexcept;
  ~EntityReader();

  // Returns the next piece as soon as its last byte has been read; nothing at the end of input. After a malformed
  // piece, reading resumes at the next line that starts with '{'. Inside an array, reading stops instead (see
  // stopped_early()). Memory use: one piece (at most 16 MiB) and a read buffer.
  [[nodiscard]] std::optional<Piece> next();

  // Returns true if reading stopped inside a broken array, so that part of the input may not have been read.
  [[nodiscard]] bool stopped_early() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace looseleaf

// Splits a byte stream into entity texts: JSON objects one per line, one after another, or in one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <looseleaf/export.hpp>
#include <memory>
#include <optional>
#include <string>

namespace looseleaf {

// A place in an input, both counted from 1; columns count bytes.
struct Position {
  std::uint64_t line = 1;
  std::uint64_t column = 1;

  bool operator==(const Position&) const = default;
};

// A stretch of input. An ordinary piece is one object, not parsed yet (whoever parses it reports what is wrong inside).
struct Piece {
  std::string text;    // as it came, surrounding white space trimmed
  Position position;   // of its first byte
  std::string reject;  // not empty: this cannot be an entity, and why ("body too large", "text between entities", ...)
  Position reject_position;   // where it went wrong; meaningful with `reject`
  std::string reject_detail;  // what is known beyond `reject`; may be empty, as the hint may
  std::string reject_hint;    // what to do about it
  bool more = false;          // with `reject`: the text was too long for one piece and goes on in the next one
};

class LOOSELEAF_EXPORT EntityReader {
 public:
  // Fills the buffer with at least one byte and returns how many, 0 at the end; blocks as read(2) does.
  // Throws Error(io) on failure.
  using Source = std::function<std::size_t(char* buffer, std::size_t size)>;

  explicit EntityReader(Source source);
  EntityReader(EntityReader&&) noexcept;
  ~EntityReader();

  // The next piece as soon as its last byte has been read; absent at the end. After a piece that turned out to be
  // malformed reading resumes at the next line that starts with '{'; inside an array it stops (stopped_early()).
  // Memory: one piece (16 MiB at most) and a read buffer.
  [[nodiscard]] std::optional<Piece> next();

  // True if reading gave up inside a broken array, so that input may have been left unread.
  [[nodiscard]] bool stopped_early() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace looseleaf

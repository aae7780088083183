// Opaque texts that users keep and give back: bytes, with a checksum, as base64url.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace looseleaf::base {

[[nodiscard]] std::string to_token(std::string_view bytes);
// Returns the bytes; absent if to_token() cannot have returned the text.
[[nodiscard]] std::optional<std::string> from_token(std::string_view token);

// Appends a number, little-endian.
void append_number(std::string& bytes, std::uint64_t number, std::size_t size = sizeof(std::uint64_t));

// Reads values from the front of some bytes. Once a value does not fit into the rest, complete() is false and every
// value is empty or 0, so callers need to check only at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] std::string_view take(std::uint64_t size);
  [[nodiscard]] std::uint64_t number(std::size_t size = sizeof(std::uint64_t));

  // Returns true if all bytes were read, and no value was missing.
  [[nodiscard]] bool complete() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace looseleaf::base

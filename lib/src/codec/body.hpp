// The body column: MySQL's COMPRESS() format, 4 bytes little-endian uncompressed length and a zlib stream.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace looseleaf::codec {

// Compresses a text. Safe from any thread.
[[nodiscard]] std::string encode_body(std::string_view text);

// The text again; memory is bounded by the recorded length, which is checked against `max_size` first. Accepts the '.'
// that COMPRESS() adds after a stream ending in a space. Throws Error(corrupt).
[[nodiscard]] std::string decode_body(std::string_view body, std::size_t max_size);

// The length of the text that a body records, in bytes; 0 if it is too short to be one.
[[nodiscard]] std::size_t recorded_length(std::string_view body);

}  // namespace looseleaf::codec

// The body column: MySQL's COMPRESS() format, 4 bytes little-endian uncompressed length and a zlib stream.
#pragma once

#include <string>
#include <string_view>

namespace looseleaf::codec {

// Compresses a text. Safe from any thread.
[[nodiscard]] std::string encode_body(std::string_view text);

// The text again; memory is bounded by the recorded length, which is checked against `max_size` first. Accepts the '.'
// that COMPRESS() adds after a stream ending in a space. Throws Error(corrupt).
[[nodiscard]] std::string decode_body(std::string_view body, std::size_t max_size);

}  // namespace looseleaf::codec

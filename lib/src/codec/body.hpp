// The format of the body column. It is that of MySQL's COMPRESS(): the length of the text (4 bytes, little-endian),
// then a zlib stream.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace looseleaf::codec {

// Compresses a text. Thread-safe.
[[nodiscard]] std::string encode_body(std::string_view text);

// Decompresses a body. First checks the recorded length against `max_size`, so that memory is bounded. Accepts the '.'
// that COMPRESS() adds after a stream that ends in a space. Throws Error(corrupt).
[[nodiscard]] std::string decode_body(std::string_view body, std::size_t max_size);

// Returns true if two bodies have the same text; false if they differ and one of them cannot be read.
[[nodiscard]] bool have_same_text(std::string_view body, std::string_view other, std::size_t max_size);

// Returns the length of the text in bytes, as the body records it; 0 if the body is too short.
[[nodiscard]] std::size_t recorded_length(std::string_view body);

}  // namespace looseleaf::codec

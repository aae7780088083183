// Compresses and decompresses bodies. ISA-L and libdeflate use the same stream format as zlib and are faster.
#include "codec/body.hpp"

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>

#include <array>
#include <cstdint>
#include <limits>
#include <looseleaf/error.hpp>
#include <new>
#include <optional>

#include "base/pool.hpp"

namespace looseleaf::codec {
namespace {

constexpr std::size_t header_size = 4;

[[noreturn]] void fail_corrupt(const char* why, std::size_t size) {
  throw Error(ErrorCode::corrupt, "a stored body cannot be decompressed",
              {{"reason", why}, {"stored bytes", std::to_string(size)}},
              "run `looseleaf verify` to find every body that cannot be read");
}

// Compresses short texts with ISA-L. For them, most of the time goes into making code tables.
class ShortCompressor {
 public:
  static constexpr std::size_t longest = 1024;  // bytes

  // Appends the stream of `text` to `out`. Returns false and appends nothing if the library cannot compress it.
  [[nodiscard]] bool append(std::string& out, std::string_view text) {
    constexpr std::size_t room = 64;  // bytes; enough for header, checksum and a block that does not get shorter
    const std::size_t start = out.size();
    out.resize(start + text.size() + room);
    isal_deflate_stateless_init(&stream_);
    stream_.level = 1;
    stream_.level_buf = buffer_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(buffer_.size());
    stream_.gzip_flag = IGZIP_ZLIB;
    stream_.end_of_stream = 1;
    // The library does not write to its input, although it takes it without const.
    stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<std::uint32_t>(text.size());
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data() + start);
    stream_.avail_out = static_cast<std::uint32_t>(out.size() - start);
    const bool done = isal_deflate_stateless(&stream_) == COMP_OK && stream_.avail_in == 0;
    out.resize(start + (done ? stream_.total_out : 0));
    return done;
  }

 private:
  isal_zstream stream_{};
  std::array<std::uint8_t, ISAL_DEF_LVL1_MIN> buffer_{};
  static_assert(longest <= IGZIP_K);  // the largest text that a buffer of this size is for
};

template <int level>
class Compressor {
 public:
  Compressor() : compressor_(libdeflate_alloc_compressor(level)) {
    if (compressor_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { libdeflate_free_compressor(compressor_); }

  // Appends the stream of `text` to `out`.
  void append(std::string& out, std::string_view text) {
    const std::size_t start = out.size();
    out.resize(start + libdeflate_zlib_compress_bound(compressor_, text.size()));
    // Cannot fail, because the output has as much room as the bound requires.
    out.resize(start +
               libdeflate_zlib_compress(compressor_, text.data(), text.size(), out.data() + start, out.size() - start));
  }

 private:
  libdeflate_compressor* compressor_;
};

class Decompressor {
 public:
  Decompressor() : decompressor_(libdeflate_alloc_decompressor()) {
    if (decompressor_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor() { libdeflate_free_decompressor(decompressor_); }

  // Fills `out` from the stream and returns the number of input bytes after the stream; absent if the stream is broken
  // or has another length.
  std::optional<std::size_t> fill(std::string& out, std::string_view body) {
    std::size_t read = 0;
    const libdeflate_result result =
        libdeflate_zlib_decompress_ex(decompressor_, body.data(), body.size(), out.data(), out.size(), &read, nullptr);
    return result == LIBDEFLATE_SUCCESS ? std::optional(body.size() - read) : std::nullopt;
  }

 private:
  libdeflate_decompressor* decompressor_;
};

// For each size, uses the fastest method whose streams are about as short as zlib's default. ISA-L takes three quarters
// of the time of libdeflate's level 1, which takes two thirds of the time of level 6.
void append_stream(std::string& out, std::string_view text) {
  constexpr std::size_t longest_for_1 = 4096;  // bytes
  if (text.size() <= ShortCompressor::longest &&
      base::Pool<ShortCompressor>::Loan(base::shared_pool<ShortCompressor>())->append(out, text)) {
    return;
  }
  if (text.size() <= longest_for_1) {
    base::Pool<Compressor<1>>::Loan(base::shared_pool<Compressor<1>>())->append(out, text);
  } else {
    base::Pool<Compressor<6>>::Loan(base::shared_pool<Compressor<6>>())->append(out, text);
  }
}

}  // namespace

std::string encode_body(std::string_view text) {
  if (text.empty() || text.size() > std::numeric_limits<std::uint32_t>::max() / 2) {
    throw Error(ErrorCode::bad_entity, "body is empty or too large to store", {{"bytes", std::to_string(text.size())}});
  }
  std::string body;
  for (std::size_t length = text.size(), i = 0; i < header_size; ++i, length /= 256) {
    body += static_cast<char>(static_cast<unsigned char>(length % 256));
  }
  append_stream(body, text);
  return body;
}

std::size_t recorded_length(std::string_view body) {
  std::size_t length = 0;
  for (std::size_t i = body.size() <= header_size ? 0 : header_size; i-- > 0;) {
    length = length * 256 + static_cast<unsigned char>(body[i]);
  }
  return length;
}

std::string decode_body(std::string_view body, std::size_t max_size) {
  if (body.size() <= header_size) {
    fail_corrupt("the body is shorter than its header", body.size());
  }
  const std::size_t length = recorded_length(body);
  if (length == 0 || length > max_size) {
    fail_corrupt("the recorded length is out of range", body.size());
  }
  const base::Pool<Decompressor>::Loan decompressor(base::shared_pool<Decompressor>());
  std::string text(length, '\0');
  const auto behind = decompressor->fill(text, body.substr(header_size));
  if (!behind) {
    fail_corrupt("the stream is broken or does not have the recorded length", body.size());
  }
  if (*behind > 1 || (*behind == 1 && (body.back() != '.' || body[body.size() - 2] != ' '))) {
    fail_corrupt("there are extra bytes after the stream", body.size());
  }
  return text;
}

bool have_same_text(std::string_view body, std::string_view other, std::size_t max_size) {
  try {
    return body == other || decode_body(body, max_size) == decode_body(other, max_size);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace looseleaf::codec

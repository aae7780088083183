// Bodies, in and out.
#include "codec/body.hpp"

#include <zlib.h>

#include <limits>
#include <looseleaf/error.hpp>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace looseleaf::codec {
namespace {

constexpr std::size_t header_size = 4;

// zlib wants pointers to mutable bytes although it only reads its input.
Bytef* input_bytes(std::string_view text) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
}

Bytef* output_bytes(std::string& text, std::size_t offset) {
  return reinterpret_cast<Bytef*>(text.data() + offset);
}

[[noreturn]] void fail_corrupt(const char* why, std::size_t size) {
  throw Error(ErrorCode::corrupt, "a stored body cannot be decompressed",
              {{"reason", why}, {"stored bytes", std::to_string(size)}},
              "run `looseleaf verify` to find every body that cannot be read");
}

class Deflater {
 public:
  Deflater() {
    if (deflateInit(&stream_, Z_DEFAULT_COMPRESSION) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() { deflateEnd(&stream_); }

  // Appends the stream of `text` to `out`.
  void append(std::string& out, std::string_view text) {
    deflateReset(&stream_);
    const std::size_t start = out.size();
    out.resize(start + deflateBound(&stream_, static_cast<uLong>(text.size())));
    stream_.next_in = input_bytes(text);
    stream_.avail_in = static_cast<uInt>(text.size());
    stream_.next_out = output_bytes(out, start);
    stream_.avail_out = static_cast<uInt>(out.size() - start);
    deflate(&stream_, Z_FINISH);  // cannot fail: the output has the room that deflateBound asks for
    out.resize(out.size() - stream_.avail_out);
  }

  std::unique_ptr<Deflater> next;  // while it is idle

 private:
  z_stream stream_{};
};

class Inflater {
 public:
  Inflater() {
    if (inflateInit(&stream_) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  // Fills `out` exactly from the stream and returns how many bytes of the input lie behind it; absent if the stream is
  // broken or of another length.
  bool fill(std::string& out, std::string_view body, std::size_t& behind) {
    inflateReset(&stream_);
    stream_.next_in = input_bytes(body);
    stream_.avail_in = static_cast<uInt>(body.size());
    stream_.next_out = output_bytes(out, 0);
    stream_.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream_, Z_FINISH);
    behind = stream_.avail_in;
    return status == Z_STREAM_END && stream_.avail_out == 0;
  }

  std::unique_ptr<Inflater> next;  // while it is idle

 private:
  z_stream stream_{};
};

// Deflaters or inflaters that nobody uses: setting one up costs more than compressing a small body. They are not kept
// per thread because glibc ends a process that has no memory left to note what a thread must destroy at its end.
template <typename Stream>
class Idle {
 public:
  std::unique_ptr<Stream> take() {
    const std::lock_guard lock(mutex_);
    if (!first_) {
      return std::make_unique<Stream>();
    }
    return std::exchange(first_, std::move(first_->next));
  }

  void give_back(std::unique_ptr<Stream> stream) noexcept {
    const std::lock_guard lock(mutex_);
    stream->next = std::move(first_);
    first_ = std::move(stream);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Stream> first_;
};

template <typename Stream>
class Borrowed {
 public:
  Borrowed() : stream_(idle().take()) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { idle().give_back(std::move(stream_)); }

  Stream* operator->() const { return stream_.get(); }

 private:
  static Idle<Stream>& idle() {
    static Idle<Stream> instance;
    return instance;
  }

  std::unique_ptr<Stream> stream_;
};

std::size_t recorded_length(std::string_view body) {
  std::size_t length = 0;
  for (std::size_t i = header_size; i-- > 0;) {
    length = length * 256 + static_cast<unsigned char>(body[i]);
  }
  return length;
}

}  // namespace

std::string encode_body(std::string_view text) {
  if (text.empty() || text.size() > std::numeric_limits<std::uint32_t>::max() / 2) {
    throw Error(ErrorCode::bad_entity, "a body of this size cannot be stored",
                {{"bytes", std::to_string(text.size())}});
  }
  const Borrowed<Deflater> deflater;
  std::string body;
  for (std::size_t length = text.size(), i = 0; i < header_size; ++i, length /= 256) {
    body += static_cast<char>(static_cast<unsigned char>(length % 256));
  }
  deflater->append(body, text);
  return body;
}

std::string decode_body(std::string_view body, std::size_t max_size) {
  if (body.size() <= header_size) {
    fail_corrupt("shorter than its header", body.size());
  }
  const std::size_t length = recorded_length(body);
  if (length == 0 || length > max_size) {
    fail_corrupt("the recorded length is out of range", body.size());
  }
  const Borrowed<Inflater> inflater;
  std::string text(length, '\0');
  std::size_t behind = 0;
  if (!inflater->fill(text, body.substr(header_size), behind)) {
    fail_corrupt("the stream is broken or not of the recorded length", body.size());
  }
  if (behind > 1 || (behind == 1 && (body.back() != '.' || body[body.size() - 2] != ' '))) {
    fail_corrupt("bytes behind the stream", body.size());
  }
  return text;
}

}  // namespace looseleaf::codec

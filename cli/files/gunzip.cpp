// Decompresses gzip data with zlib, which reads it in pieces of any size. ISA-L does not find a header that is cut.
#include "cli/files/gunzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <looseleaf/error.hpp>
#include <new>
#include <utility>

#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t buffer_size = 64 * 1024;
constexpr int only_gzip = 16 + MAX_WBITS;

}  // namespace

Gunzip::Gunzip(std::string name, std::string_view beginning, Source source)
    : name_(std::move(name)),
      source_(std::move(source)),
      input_(std::max(buffer_size, beginning.size())),
      stream_(std::make_unique<z_stream>()) {
  std::copy(beginning.begin(), beginning.end(), input_.begin());
  stream_->next_in = input_.data();
  stream_->avail_in = static_cast<uInt>(beginning.size());
  if (inflateInit2(stream_.get(), only_gzip) != Z_OK) {
    throw std::bad_alloc();
  }
}

Gunzip::~Gunzip() {
  inflateEnd(stream_.get());
}

std::size_t Gunzip::read(char* buffer, std::size_t size) {
  stream_->next_out = reinterpret_cast<unsigned char*>(buffer);
  stream_->avail_out = static_cast<uInt>(size);
  while (stream_->avail_out == size) {
    if (stream_->avail_in == 0 && !has_more_ && !fill()) {
      if (in_member_ && !stop_requested()) {
        fail("it ends too early");
      }
      return 0;
    }
    in_member_ = true;
    const int result = inflate(stream_.get(), Z_NO_FLUSH);
    has_more_ = stream_->avail_out == 0;
    if (result == Z_STREAM_END) {
      in_member_ = false;
      has_more_ = false;
      inflateReset(stream_.get());
    } else if (result != Z_OK && result != Z_BUF_ERROR) {  // which means that it needs more input
      fail(stream_->msg != nullptr ? stream_->msg : "a block is invalid");
    }
  }
  return size - stream_->avail_out;
}

// Returns false at the end of the source.
bool Gunzip::fill() {
  stream_->next_in = input_.data();
  stream_->avail_in = static_cast<uInt>(source_(reinterpret_cast<char*>(input_.data()), input_.size()));
  return stream_->avail_in > 0;
}

void Gunzip::fail(const char* reason) const {
  throw Error(ErrorCode::io, "the gzip data cannot be read to its end", {{"file", name_}, {"reason", reason}},
              "test the file with `gzip -t`, and get a complete copy of it");
}

}  // namespace looseleaf::cli

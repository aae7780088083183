// The body column: what was encoded comes back, what was not is refused, and neither costs more than the recorded
// length.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "codec/body.hpp"
#include "tests/fuzz/oracle.hpp"

namespace {

using namespace looseleaf;
using fuzz::require;

constexpr std::size_t max_size = 1024 * 1024;

std::optional<std::string> decode(std::string_view body, std::size_t limit = max_size) {
  try {
    return codec::decode_body(body, limit);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::corrupt, "a body that cannot be read is corrupt");
    return std::nullopt;
  }
}

// The same by zlib's own one-call function.
std::string inflated(std::string_view stream, std::size_t length) {
  std::string text(length, '\0');
  auto size = static_cast<uLongf>(length);
  auto consumed = static_cast<uLong>(stream.size());
  const int status = uncompress2(reinterpret_cast<Bytef*>(text.data()), &size,
                                 reinterpret_cast<const Bytef*>(stream.data()), &consumed);
  require(status == Z_OK && size == length, "what is decoded is a whole stream of the recorded length");
  require(consumed == stream.size() || stream.substr(consumed - 1) == " .", "only a dot may follow, behind a space");
  return text;
}

void check_decoding(std::string_view body) {
  const std::optional<std::string> text = decode(body);
  if (!text) {
    return;
  }
  require(inflated(body.substr(4), text->size()) == *text, "a body means what zlib reads in it");
  require(!decode(body, text->size() - 1), "a body longer than is allowed is refused");
  require(decode(codec::encode_body(*text)) == *text, "what was decoded can be encoded again");
}

void check_encoding(std::string_view text) {
  const std::string body = codec::encode_body(text);
  require(decode(body) == text, "what was encoded comes back");
  require(body.size() <= text.size() + text.size() / 1000 + 64, "a body is hardly longer than its text");
  require(!decode(std::string_view(body).substr(0, body.size() - 1)), "a body that was cut is refused");
  require(!decode(body + "x"), "a body with something behind it is refused");
  require(decode(body + ".").has_value() == (body.back() == ' '), "a dot is accepted behind a space only");
  for (const int difference : {-1, 1}) {
    std::string other = body;
    other[0] = static_cast<char>(other[0] + difference);
    require(!decode(other), "a body of another length than is recorded is refused");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  check_decoding(input);
  if (!input.empty()) {
    check_encoding(input);
  }
  return 0;
}

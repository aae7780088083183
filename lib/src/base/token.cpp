// The checksum, 4 bytes, is at the end.
#include "base/token.hpp"

#include "base/base64.hpp"
#include "base/text.hpp"

namespace looseleaf::base {
namespace {

constexpr std::size_t sum_size = 4;

std::string with_sum(std::string_view bytes) {
  std::string sealed(bytes);
  append_number(sealed, fnv1a(bytes), sum_size);
  return sealed;
}

}  // namespace

std::string to_token(std::string_view bytes) {
  return to_base64url(with_sum(bytes));
}

std::optional<std::string> from_token(std::string_view token) {
  auto bytes = from_base64url(token);
  if (!bytes || bytes->size() < sum_size) {
    return std::nullopt;
  }
  std::string content = bytes->substr(0, bytes->size() - sum_size);
  return with_sum(content) == *bytes ? std::optional(std::move(content)) : std::nullopt;
}

void append_number(std::string& bytes, std::uint64_t number, std::size_t size) {
  for (; size > 0; --size, number >>= 8) {
    bytes += static_cast<char>(static_cast<unsigned char>(number & 255));
  }
}

std::string_view ByteReader::take(std::uint64_t size) {
  if (failed_ || size > rest_.size()) {
    failed_ = true;
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

std::uint64_t ByteReader::number(std::size_t size) {
  const std::string_view bytes = take(size);
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

}  // namespace looseleaf::base

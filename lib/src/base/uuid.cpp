// UUIDs: reading, writing and making them.
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <system_error>

#include "base/hex.hpp"

namespace looseleaf {
namespace {

// The kernel's generator rather than one of our own: a forked process can never repeat ids.
void fill_random(std::uint8_t* out, std::size_t size) {
  while (size > 0) {
    const ssize_t got = getrandom(out, size, 0);
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      throw Error(ErrorCode::io, "the system gave no random numbers",
                  {{"reason", std::generic_category().message(errno)}});
    }
    out += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace

std::optional<Uuid> Uuid::parse(std::string_view text) {
  Uuid uuid;
  std::size_t digits = 0;
  bool after_dash = true;  // a dash may neither come first nor follow another
  for (const char c : text) {
    if (c == '-' && !after_dash) {
      after_dash = true;
      continue;
    }
    const int value = base::hex_digit(c);
    if (value < 0 || digits == 32) {
      return std::nullopt;
    }
    std::uint8_t& byte = uuid.bytes[digits / 2];
    byte = static_cast<std::uint8_t>(byte * 16 + value);
    ++digits;
    after_dash = false;
  }
  if (digits != 32 || after_dash) {
    return std::nullopt;
  }
  return uuid;
}

Uuid Uuid::make_v7() {
  Uuid uuid;
  fill_random(uuid.bytes.data() + 6, 10);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto millis = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  for (std::size_t i = 6; i-- > 0; millis >>= 8U) {
    uuid.bytes[i] = static_cast<std::uint8_t>(millis & 0xFFU);
  }
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0FU) | 0x70U);
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3FU) | 0x80U);
  return uuid;
}

std::optional<Uuid> Uuid::from_bytes(std::string_view bytes) {
  Uuid uuid;
  if (bytes.size() != uuid.bytes.size()) {
    return std::nullopt;
  }
  std::transform(bytes.begin(), bytes.end(), uuid.bytes.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  return uuid;
}

std::string to_string(const Uuid& uuid) {
  std::string out;
  out.reserve(32);
  for (const std::uint8_t byte : uuid.bytes) {
    const char c = static_cast<char>(byte);
    base::append_hex(out, std::string_view(&c, 1));
  }
  return out;
}

}  // namespace looseleaf

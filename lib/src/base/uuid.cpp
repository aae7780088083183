// Reads, writes and makes UUIDs.
#include <algorithm>
#include <chrono>
#include <looseleaf/uuid.hpp>

#include "base/hex.hpp"
#include "base/random.hpp"

namespace looseleaf {

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
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto millis = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  std::uint64_t high = millis << 16U | (base::random_u64() & 0x0FFFU) | 0x7000U;
  std::uint64_t low = (base::random_u64() >> 2U) | (std::uint64_t{2} << 62U);
  Uuid uuid;
  for (std::size_t i = 8; i-- > 0; high >>= 8U, low >>= 8U) {
    uuid.bytes[i] = static_cast<std::uint8_t>(high & 0xFFU);
    uuid.bytes[i + 8] = static_cast<std::uint8_t>(low & 0xFFU);
  }
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

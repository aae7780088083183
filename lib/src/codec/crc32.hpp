// CRC-32 as zlib and the servers' CRC32() compute it.
#pragma once

#include <cstdint>
#include <string_view>

namespace looseleaf::codec {

[[nodiscard]] std::uint32_t crc32(std::string_view bytes);

}  // namespace looseleaf::codec

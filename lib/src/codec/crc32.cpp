// CRC-32, from zlib.
#include "codec/crc32.hpp"

#include <zlib.h>

namespace looseleaf::codec {

std::uint32_t crc32(std::string_view bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

}  // namespace looseleaf::codec

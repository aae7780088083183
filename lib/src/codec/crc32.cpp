// CRC-32, from libdeflate.
#include "codec/crc32.hpp"

#include <libdeflate.h>

namespace looseleaf::codec {

std::uint32_t crc32(std::string_view bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

}  // namespace looseleaf::codec

// Random numbers from getrandom(2).
#include "base/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <looseleaf/error.hpp>

namespace looseleaf::base {

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  while (value == 0) {
    if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value) && errno != EINTR) {
      throw Error(ErrorCode::io, "cannot get random numbers from the operating system",
                  {{"reason", std::strerror(errno)}});
    }
  }
  return value;
}

std::uint64_t random_token() {
  return (random_u64() >> 1U) | 1U;
}

}  // namespace looseleaf::base

// The kernel's own files without a name.
#include "cli/files/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <looseleaf/error.hpp>

namespace looseleaf::cli {

Descriptor memory_file(const char* name, std::string_view bytes) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC));
  if (file.get() < 0) {
    throw Error(ErrorCode::io, "cannot create a file in memory", {{"reason", std::strerror(errno)}});
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      throw Error(ErrorCode::io, "a program's input cannot be stored", {{"reason", std::strerror(errno)}});
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

}  // namespace looseleaf::cli

// Loaded into a server (LD_PRELOAD): writes to InnoDB's log wait as long as a file `stall` lies beside it, as on a disk
// that hangs. Nothing but the C library is used, since the server brings its own of everything else.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace {

using Write = ssize_t (*)(int, const void*, size_t, off64_t);

constexpr useconds_t between_looks = 5000;
constexpr size_t longest_path = 4096;

bool is_stalled(int file) {
  char link[64];
  char path[longest_path + sizeof "stall"];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, longest_path);
  if (length <= 0) {
    return false;
  }
  path[length] = 0;
  char* const name = strrchr(path, '/') + 1;
  if (strncmp(name, "ib_logfile", 10) != 0 && strncmp(name, "#ib_redo", 8) != 0) {
    return false;
  }
  memcpy(name, "stall", sizeof "stall");
  return access(path, F_OK) == 0;
}

ssize_t write_when_possible(const char* function, int file, const void* bytes, size_t size, off64_t offset) {
  while (is_stalled(file)) {
    usleep(between_looks);
  }
  return reinterpret_cast<Write>(dlsym(RTLD_NEXT, function))(file, bytes, size, offset);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return write_when_possible("pwrite", file, bytes, size, offset);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
  return write_when_possible("pwrite64", file, bytes, size, offset);
}
}

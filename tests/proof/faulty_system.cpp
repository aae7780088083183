// Loaded before other libraries (LD_PRELOAD), this makes calls of the program under test fail as on a system that has
// run out of something. The environment says which; calls are counted from the beginning of main.
//   FAULTY_ALLOCATION=N or N+K   the N-th allocation, or K of them from the N-th on, finds no memory
//   FAULTY_THREAD=N or N+K       likewise, no thread can be created
//   FAULTY_READ=FD:N or FD:N+K   likewise, read(2) from this descriptor fails with EIO
//   FAULTY_WRITE=FD:N or FD:N+K  likewise, write(2) to it
//   FAULTY_REPORT=FILE           where the program writes at its end how many calls there were: "ALLOCATIONS THREADS"
// The first call that fails is shown on standard error, with where it came from: one line a frame, innermost first.
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define INTERPOSED extern "C" __attribute__((visibility("default")))

// glibc's own allocator, by the names that it keeps for those who stand in for it.
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* __libc_realloc(void* old, std::size_t size);

namespace {

// Calls of one kind, and which of them fail.
class Calls {
 public:
  // "N" or "N+K"; null: none.
  void fail_at(const char* text) {
    if (text == nullptr) {
      return;
    }
    char* rest = nullptr;
    first_ = std::strtoul(text, &rest, 10);
    count_ = *rest == '+' ? std::strtoul(rest + 1, nullptr, 10) : 1;
  }

  // "FD:N" or "FD:N+K"; null: none.
  void fail_on_descriptor(const char* text) {
    const char* const colon = text == nullptr ? nullptr : std::strchr(text, ':');
    if (colon != nullptr) {
      descriptor_ = static_cast<int>(std::strtol(text, nullptr, 10));
      fail_at(colon + 1);
    }
  }

  // Counts a call; true if it is to fail.
  bool fails() {
    const unsigned long number = ++made_;
    return number >= first_ && number - first_ < count_;
  }

  [[nodiscard]] unsigned long made() const { return made_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  std::atomic<unsigned long> made_{0};
  unsigned long first_ = 0, count_ = 0;
  int descriptor_ = -1;
};

Calls allocations, threads, reads, writes;
std::atomic<bool> counting{false}, shown{false};
int (*program)(int, char**, char**) = nullptr;

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void show_origin() {
  std::array<void*, 32> frames{};
  ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), static_cast<int>(frames.size())), STDERR_FILENO);
}

// True if the call is to fail, with errno set.
bool fails(Calls& calls, int error) {
  if (!counting || !calls.fails()) {
    return false;
  }
  if (!shown.exchange(true)) {
    show_origin();
  }
  errno = error;
  return true;
}

void write_report() {
  const char* const path = std::getenv("FAULTY_REPORT");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "we");
  if (file != nullptr) {
    std::fprintf(file, "%lu %lu\n", allocations.made(), threads.made());
    std::fclose(file);
  }
}

int run_program(int argc, char** argv, char** environment) {
  allocations.fail_at(std::getenv("FAULTY_ALLOCATION"));
  threads.fail_at(std::getenv("FAULTY_THREAD"));
  reads.fail_on_descriptor(std::getenv("FAULTY_READ"));
  writes.fail_on_descriptor(std::getenv("FAULTY_WRITE"));
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), 1);  // loads what it needs
  counting = true;
  const int status = program(argc, argv, environment);
  counting = false;
  write_report();
  return status;
}

}  // namespace

INTERPOSED int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                                 void (*fini)(), void (*loader_fini)(), void* stack_end) {
  program = main;
  return next<decltype(__libc_start_main)>("__libc_start_main")(run_program, argc, argv, init, fini, loader_fini,
                                                                stack_end);
}

INTERPOSED void* malloc(std::size_t size) {
  return fails(allocations, ENOMEM) ? nullptr : __libc_malloc(size);
}

INTERPOSED void* calloc(std::size_t count, std::size_t size) {
  return fails(allocations, ENOMEM) ? nullptr : __libc_calloc(count, size);
}

INTERPOSED void* realloc(void* old, std::size_t size) {
  return fails(allocations, ENOMEM) ? nullptr : __libc_realloc(old, size);
}

INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  static auto* const real = next<decltype(pthread_create)>("pthread_create");
  return fails(threads, EAGAIN) ? EAGAIN : real(thread, attributes, start, argument);
}

INTERPOSED ssize_t read(int fd, void* buffer, std::size_t size) {
  static auto* const real = next<decltype(read)>("read");
  return fd == reads.descriptor() && fails(reads, EIO) ? -1 : real(fd, buffer, size);
}

INTERPOSED ssize_t write(int fd, const void* buffer, std::size_t size) {
  static auto* const real = next<decltype(write)>("write");
  return fd == writes.descriptor() && fails(writes, EIO) ? -1 : real(fd, buffer, size);
}

#include "cli/files/replace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <looseleaf/error.hpp>
#include <system_error>

#include "cli/files/descriptor.hpp"

namespace looseleaf::cli {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string& path, const std::error_code& error) {
  throw Error(ErrorCode::io, "a file cannot be written", {{"file", path}, {"reason", error.message()}},
              "make sure that its folder exists and is writable: a new file is written there and then renamed");
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

// Devices, pipes and what is open already take what is written to them. Another file in their place would break what
// uses them, or lose what was printed.
bool is_device(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return is_standard_output(path) || path.starts_with("/dev/std") || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/") ||
         (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status));
}

// A link stays, and the file behind it is replaced, or made if it is not there yet.
std::string behind_links(const std::string& path) {
  constexpr int most_links = 40;
  fs::path file = path;
  std::error_code error;
  for (int i = 0; i < most_links && fs::is_symlink(file, error); ++i) {
    const fs::path target = fs::read_symlink(file, error);
    file = error ? file : file.parent_path() / target;  // `/` keeps an absolute target as it is
  }
  return file.string();
}

// Does not wait for a reader of a pipe.
Descriptor open_device(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK));
}

std::error_code write_to_device(const std::string& path, std::string_view contents) {
  const Descriptor file = open_device(path);
  if (file.get() < 0 || ::fcntl(file.get(), F_SETFL, O_APPEND) != 0) {
    return last_error();
  }
  while (!contents.empty()) {
    const ssize_t written = ::write(file.get(), contents.data(), contents.size());
    if (written < 0 && errno != EINTR) {
      return last_error();
    }
    contents.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  return {};
}

std::error_code write(const std::string& path, std::string_view contents) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << contents;
  file.close();
  return file ? std::error_code() : last_error();
}

// The process's umask takes permissions away from `mode`.
std::error_code create(const std::string& path, fs::perms mode) {
  std::error_code ignored;
  fs::remove(path, ignored);
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode)));
  return file.get() >= 0 ? std::error_code() : last_error();
}

}  // namespace

bool is_standard_output(const std::string& path) {
  struct stat output {
  }, file{};
  return ::fstat(STDOUT_FILENO, &output) == 0 && S_ISREG(output.st_mode) && ::stat(path.c_str(), &file) == 0 &&
         file.st_dev == output.st_dev && file.st_ino == output.st_ino;
}

std::string unfinished_of(const std::string& path) {
  const fs::path file(path);
  return (file.parent_path() / fmt::format(".{}.new", file.filename().string())).string();
}

void check_replaceable(const std::string& path) {
  if (is_device(path)) {
    if (open_device(path).get() < 0) {
      refuse(path, last_error());
    }
    return;
  }
  const std::string unfinished = unfinished_of(behind_links(path));
  std::error_code error = create(unfinished, private_file);
  std::error_code ignored;
  if (!error && fs::is_directory(path, ignored)) {
    error = std::make_error_code(std::errc::is_a_directory);
  }
  fs::remove(unfinished, ignored);
  if (error) {
    refuse(path, error);
  }
}

void replace_file(const std::string& path, std::string_view contents, fs::perms mode) {
  if (is_device(path)) {
    if (const std::error_code error = write_to_device(path, contents)) {
      refuse(path, error);
    }
    return;
  }
  const std::string target = behind_links(path), unfinished = unfinished_of(target);
  std::error_code error = create(unfinished, mode);
  if (!error) {
    error = write(unfinished, contents);
  }
  if (!error) {
    fs::rename(unfinished, target, error);
  }
  if (error) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    refuse(path, error);
  }
}

}  // namespace looseleaf::cli

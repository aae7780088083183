#include "cli/files/replace_file.hpp"

#include <cerrno>
#include <fstream>
#include <looseleaf/error.hpp>
#include <system_error>

namespace looseleaf::cli {
namespace fs = std::filesystem;

namespace {

std::string unfinished_of(const std::string& path) {
  return path + ".new";
}

[[noreturn]] void refuse(const std::string& path, const std::error_code& error) {
  throw Error(ErrorCode::io, "a file cannot be written", {{"file", path}, {"reason", error.message()}},
              "make sure that its folder exists and is writable: a new file is written there and then renamed");
}

}  // namespace

void check_replaceable(const std::string& path) {
  errno = 0;
  std::ofstream file(unfinished_of(path), std::ios::binary | std::ios::trunc);
  std::error_code error = file ? std::error_code() : std::error_code(errno, std::generic_category());
  std::error_code ignored;
  if (!error && fs::is_directory(path, ignored)) {
    error = std::make_error_code(std::errc::is_a_directory);
  }
  fs::remove(unfinished_of(path), ignored);
  if (error) {
    refuse(path, error);
  }
}

void replace_file(const std::string& path, std::string_view contents, fs::perms mode) {
  const std::string unfinished = unfinished_of(path);
  errno = 0;
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << contents;
  file.close();
  std::error_code error = file ? std::error_code() : std::error_code(errno, std::generic_category());
  if (!error) {
    fs::permissions(unfinished, mode, error);
  }
  if (!error) {
    fs::rename(unfinished, path, error);
  }
  if (error) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    refuse(path, error);
  }
}

}  // namespace looseleaf::cli

#include "cli/replace_file.hpp"

#include <cerrno>
#include <fstream>
#include <looseleaf/error.hpp>
#include <system_error>

namespace looseleaf::cli {
namespace fs = std::filesystem;

void replace_file(const std::string& path, std::string_view contents, fs::perms mode) {
  const std::string unfinished = path + ".new";
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
    throw Error(ErrorCode::io, "a file cannot be written", {{"file", path}, {"reason", error.message()}});
  }
}

}  // namespace looseleaf::cli

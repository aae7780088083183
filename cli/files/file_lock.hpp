// An exclusive lock on a file, held while the object lives.
#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <looseleaf/error.hpp>
#include <string>

#include "cli/files/descriptor.hpp"

namespace looseleaf::cli {

class FileLock {
 public:
  // Creates the file if need be and waits for the lock. Throws Error(io).
  explicit FileLock(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_.get() < 0 || ::flock(file_.get(), LOCK_EX) != 0) {
      const int error = errno;
      throw Error(ErrorCode::io, "cannot lock a file", {{"file", path}, {"reason", std::strerror(error)}},
                  error == EACCES ? "run the command as the owner of this file"
                                  : "make sure that its folder exists and is writable");
    }
  }

 private:
  Descriptor file_;
};

}  // namespace looseleaf::cli

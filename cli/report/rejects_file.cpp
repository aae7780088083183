// A new run puts the contents of an earlier one aside.
#include "cli/report/rejects_file.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <looseleaf/error.hpp>
#include <thread>
#include <utility>

#include "cli/files/replace_file.hpp"

namespace looseleaf::cli {

RejectsFile::RejectsFile(const std::string& path) : path_(path) {
  if (!open()) {
    throw Error(ErrorCode::io, "cannot open the rejects file", {{"file", path}, {"reason", std::strerror(errno)}},
                "name a file that may be written, in a folder that exists; nothing was stored");
  }
}

// Holds a shared lock if it can be had, by which others know that the file is in use. Another process that replaces the
// file locks it for a moment; one that locks it for longer, such as flock(1), is not waited for.
bool RejectsFile::open() {
  while (true) {
    file_.reset(std::fopen(path_.c_str(), "ae"));
    if (!file_) {
      return false;
    }
    std::setvbuf(file_.get(), nullptr, _IOLBF, 0);  // others see each reject at once, and a kill loses at most one
    for (int tries = 0; ::flock(::fileno(file_.get()), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK && tries < 50;
         ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    struct stat opened {
    }, named{};
    if (::fstat(::fileno(file_.get()), &opened) != 0 || ::stat(path_.c_str(), &named) != 0 ||
        !S_ISREG(opened.st_mode) || (opened.st_dev == named.st_dev && opened.st_ino == named.st_ino)) {
      return true;
    }
  }
}

// Gives the file's name to a new, empty file. One that others write to stays, and so does one whose folder is not
// writable.
void RejectsFile::put_aside() {
  const int old = ::fileno(file_.get());
  struct stat status {};
  if (::fstat(old, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    return;
  }
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat other {};
    if (::fstat(stream, &other) == 0 && other.st_dev == status.st_dev && other.st_ino == status.st_ino) {
      return;
    }
  }
  if (::flock(old, LOCK_EX | LOCK_NB) != 0) {
    return;
  }
  try {
    replace_file(path_, "", private_file);
  } catch (const Error&) {
    static_cast<void>(::flock(old, LOCK_SH));
    return;
  }
  auto aside = std::move(file_);
  if (open()) {  // a process that waits for the lock of the old file looks at the name again
    const int file = ::fileno(file_.get());
    static_cast<void>(::fchown(file, status.st_uid, status.st_gid) == 0);  // root may be at work
    static_cast<void>(::fchmod(file, status.st_mode & 07777));
  } else {
    note_failure();
    file_ = std::move(aside);
  }
}

void RejectsFile::empty() {
  put_aside();
  if (::ftruncate(::fileno(file_.get()), 0) != 0 && errno != EINVAL) {  // a pipe has no old contents
    note_failure();
  }
}

void RejectsFile::begin_with(const std::string& header) {
  const auto without_line_end = [](std::string_view text) { return text.substr(0, text.find_last_not_of('\r') + 1); };
  if (!header_.empty() && without_line_end(header_) != without_line_end(header)) {
    throw Error(ErrorCode::bad_entity, "the header differs from that of another input", {},
                "put files with different headers one by one, so that each has a rejects file of its own");
  }
  header_ = header_.empty() ? header : header_;
}

void RejectsFile::write(std::string_view piece, bool complete) {
  if (!header_.empty() && !std::exchange(header_written_, true)) {
    append(header_, true);
  }
  append(piece, complete);
}

void RejectsFile::append(std::string_view piece, bool complete) {
  const bool written = std::fwrite(piece.data(), 1, piece.size(), file_.get()) == piece.size();
  if (!written || (complete && std::fputc('\n', file_.get()) == EOF)) {
    note_failure();
  }
}

void RejectsFile::flush() {
  if (std::fflush(file_.get()) != 0) {
    note_failure();
  }
}

void RejectsFile::note_failure() {
  if (failure_.empty()) {
    failure_ = std::strerror(errno);
  }
}

}  // namespace looseleaf::cli

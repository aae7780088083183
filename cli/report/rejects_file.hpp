// The file for entities that could not be stored.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace looseleaf::cli {

// Not thread-safe.
class RejectsFile {
 public:
  // Throws Error(io).
  explicit RejectsFile(const std::string& path);

  // Deletes the contents of an earlier run. A program that has them open can still read
  // them: `sed ... F | put --rejects F`.
  void empty();
  // Gives the file a first line if anything is written; its line break is LF, or CRLF if it ends in CR. Throws
  // Error(bad_entity) if it has another one.
  void begin_with(const std::string& header);
  // If a piece is not `complete`, the next call continues it. A complete one gets a line break.
  void write(std::string_view piece, bool complete);
  void flush();
  [[nodiscard]] bool has_header() const { return !header_.empty(); }
  // The reason of a failed write; empty without one.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void note_failure();
  [[nodiscard]] bool open();
  void put_aside();
  void append(std::string_view piece, bool complete);

  const std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string header_;
  bool header_written_ = false;
  std::string failure_;
};

}  // namespace looseleaf::cli

// Input from files and standard input, and ids read from it line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/files/gunzip.hpp"

namespace looseleaf::cli {

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // some programs begin UTF-8 files with it

// One file, or standard input if the name is "-".
class Input {
 public:
  // Throws Error(io).
  explicit Input(const std::string& name);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  // Like read(2): waits for at least one byte. Returns 0 at the end, or once a signal asks to stop. Gzip data is
  // decompressed. Throws Error(io), also if the input begins like a file of another format or like UTF-16.
  std::size_t read(char* buffer, std::size_t size);

  // True if read() has met the end, not only a signal.
  [[nodiscard]] bool at_end() const { return at_end_; }
  // The number of bytes that were read, before they were decompressed.
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

  [[nodiscard]] bool is_terminal() const;
  // True if a read would wait.
  [[nodiscard]] bool is_idle() const;

 private:
  std::size_t read_beginning(char* buffer, std::size_t size);
  std::size_t read_on(char* buffer, std::size_t size);
  std::size_t read_some(char* buffer, std::size_t size);

  std::string name_;
  int fd_;
  bool begun_ = false, at_end_ = false;
  std::uint64_t bytes_read_ = 0;
  std::unique_ptr<Gunzip> gunzip_;  // null unless the input is gzip data
};

// Throws Error(io) if the file of this name ("-": standard input) does not exist, is a directory, may not be read, or
// is a regular file that is not text. Does not open a FIFO, because that would wait for a writer.
void check_readable(const std::string& name);

// The size in bytes of a regular file, also as standard input; absent for anything else. Opens nothing.
[[nodiscard]] std::optional<std::uint64_t> size_of_input(const std::string& name);

// True if `path` is a regular file and `input` ("-": standard input) is the same file. Opens nothing.
[[nodiscard]] bool is_same_file(const std::string& path, const std::string& input);

// One line that should hold an id.
struct IdLine {
  std::uint64_t line = 0;  // counted from 1
  std::string text;        // trimmed; the first 256 bytes of a longer one
  std::optional<Uuid> id;  // absent if the text is not an id
};

// Reads ids one per line; blank lines are skipped.
class IdReader {
 public:
  explicit IdReader(Input& input) : input_(input) {}

  // The lines that have arrived, at most `limit`; waits for the first. Empty at the end. Throws Error(io).
  [[nodiscard]] std::vector<IdLine> next(std::size_t limit);

 private:
  void read_more();
  void end_line();

  Input& input_;
  std::deque<IdLine> lines_;
  std::string partial_;
  std::uint64_t line_ = 1;
  bool ended_ = false;
};

// The error for a text that is not an id, on this line of an input. It has the beginning of a long text.
[[nodiscard]] Error not_an_id(std::optional<std::uint64_t> line, std::string_view text);

// Parses ids that are arguments. Throws Error(usage) for the first text that is not an id.
[[nodiscard]] std::vector<Uuid> parse_ids(const std::vector<std::string>& texts);

// True for the single argument "-". Throws Error(usage) if there are other arguments beside it.
[[nodiscard]] bool means_standard_input(const std::vector<std::string>& ids);

// If the input is a terminal, prints a note that the command waits for input.
void hint_if_terminal(const Input& input, std::string_view what);

}  // namespace looseleaf::cli

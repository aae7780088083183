// Input from files and standard input, and ids read from it line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::cli {

// One file, or standard input if the name is "-".
class Input {
 public:
  // Throws Error(io).
  explicit Input(const std::string& name);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  // As read(2): what is there, at least one byte. 0 at the end, or as soon as a signal asks to stop.
  // Throws Error(io), also for what begins like a compressed file or UTF-16.
  std::size_t read(char* buffer, std::size_t size);

  [[nodiscard]] bool is_terminal() const;

 private:
  std::size_t read_some(char* buffer, std::size_t size);

  std::string name_;
  int fd_;
  bool begun_ = false;
};

// Throws Error(io) if the file of this name ("-": standard input) is not there, is a directory or may not be read, or a
// regular file is not text. Opens nothing else: a FIFO would wait for whoever writes to it.
void check_readable(const std::string& name);

// Bytes of a regular file, or of one that standard input comes from; absent for anything else. Opens nothing.
[[nodiscard]] std::optional<std::uint64_t> size_of_input(const std::string& name);

// True if a file of this path is there and is the one that an input ("-": standard input) comes from. Opens nothing.
[[nodiscard]] bool is_same_file(const std::string& path, const std::string& input);

// One line that should hold an id.
struct IdLine {
  std::uint64_t line = 0;  // counted from 1
  std::string text;        // trimmed; the first 256 bytes of a longer one
  std::optional<Uuid> id;  // absent if the text is none
};

// Reads ids one per line; blank lines are skipped.
class IdReader {
 public:
  explicit IdReader(Input& input) : input_(input) {}

  // What has arrived, `limit` lines at most; waits for the first. Empty at the end. Throws Error(io).
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

// The complaint about a text that is none.
[[nodiscard]] Error not_an_id(Error::Context context);

// Ids given as arguments. Throws Error(usage) at the first that is none.
[[nodiscard]] std::vector<Uuid> parse_ids(const std::vector<std::string>& texts);

// True for the single argument "-". Throws Error(usage) if "-" stands among others.
[[nodiscard]] bool means_standard_input(const std::vector<std::string>& ids);

// Tells somebody who started the command without input what it waits for.
void hint_if_terminal(const Input& input, std::string_view what);

}  // namespace looseleaf::cli

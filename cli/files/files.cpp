// Input from files and standard input.
#include "cli/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/terminal.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t longest_id_line = 256;

std::optional<struct stat> stat_of_input(const std::string& name) {
  struct stat info {};
  const int failed = name == "-" ? ::fstat(STDIN_FILENO, &info) : ::stat(name.c_str(), &info);
  return failed == 0 ? std::optional(info) : std::nullopt;
}

// Returns true if `path` is this file, and a regular one.
bool is_regular_file(const std::string& path, const std::optional<struct stat>& file) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && file && info.st_dev == file->st_dev &&
         info.st_ino == file->st_ino;
}

Error unreadable(const std::string& name, int error) {
  return Error(ErrorCode::io, "the file cannot be read", {{"file", name}, {"reason", std::strerror(error)}},
               "name files that exist and may be read");
}

// Formats, recognised by the first bytes of a file. No JSON text and no id begins with them.
struct Packed {
  std::string_view magic, format, unpack;
  std::size_t at = 0;  // where the magic bytes are
};
constexpr std::size_t tar_magic_at = 257;
constexpr std::array<Packed, 10> packed_formats{{{Gunzip::magic, "gzip", "zcat"},
                                                 {"\x28\xB5\x2F\xFD", "zstd", "zstdcat"},
                                                 {"\xFD"
                                                  "7zXZ",
                                                  "xz", "xzcat"},
                                                 {"BZh91AY&SY", "bzip2", "bzcat"},
                                                 {"PK\x03\x04", "zip", "unzip -p"},
                                                 {"\xFF\xFE", "UTF-16", "iconv -f UTF-16 -t UTF-8"},
                                                 {"\xFE\xFF", "UTF-16", "iconv -f UTF-16 -t UTF-8"},
                                                 {{"{\0", 2}, "UTF-16", "iconv -f UTF-16LE -t UTF-8"},
                                                 {{"\0{", 2}, "UTF-16", "iconv -f UTF-16BE -t UTF-8"},
                                                 {"ustar", "tar", "tar -xOf", tar_magic_at}}};

// True if more bytes are needed to recognise a format.
bool may_begin_packed(std::string_view beginning) {
  return std::any_of(packed_formats.begin(), packed_formats.end(), [&](const Packed& packed) {
    if (beginning.size() >= packed.at + packed.magic.size()) {
      return false;
    }
    // A tar archive begins with a name that is filled up with NUL bytes.
    return packed.at == 0 ? packed.magic.starts_with(beginning) : beginning.find('\0') != std::string_view::npos;
  });
}

void refuse_packed(std::string_view beginning, const std::string& name) {
  for (const Packed& packed : packed_formats) {
    if (beginning.size() > packed.at && beginning.substr(packed.at).starts_with(packed.magic)) {
      throw Error(ErrorCode::io, "the input is not UTF-8 text",
                  {{"file", name}, {"format", std::string(packed.format)}},
                  fmt::format("convert it first: `{} FILE | looseleaf ...`", packed.unpack));
    }
  }
}

}  // namespace

Input::Input(const std::string& name)
    : name_(name == "-" ? "standard input" : name),
      fd_(name == "-" ? STDIN_FILENO
                      : ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // a FIFO may have no writer yet
  if (fd_ < 0) {
    throw unreadable(name_, errno);
  }
}

Input::~Input() {
  if (fd_ != STDIN_FILENO) {
    ::close(fd_);
  }
}

// Refuses another packed file than gzip as a whole: as text, every line of it would be an error.
std::size_t Input::read(char* buffer, std::size_t size) {
  if (begun_) {
    return read_on(buffer, size);
  }
  begun_ = true;
  std::size_t got = read_beginning(buffer, size);
  if (std::string_view(buffer, got).starts_with(Gunzip::magic)) {
    gunzip_ = std::make_unique<Gunzip>(name_, std::string_view(buffer, got),
                                       [this](char* into, std::size_t room) { return read_some(into, room); });
    got = read_beginning(buffer, size);
  }
  refuse_packed({buffer, got}, name_);
  return got;
}

// Returns enough bytes to recognise the format, if there are as many.
std::size_t Input::read_beginning(char* buffer, std::size_t size) {
  std::size_t got = read_on(buffer, size);
  for (std::size_t more = got; more > 0 && got < size && may_begin_packed({buffer, got}); got += more) {
    more = read_on(buffer + got, size - got);
  }
  return got;
}

std::size_t Input::read_on(char* buffer, std::size_t size) {
  return gunzip_ ? gunzip_->read(buffer, size) : read_some(buffer, size);
}

std::size_t Input::read_some(char* buffer, std::size_t size) {
  while (wait_readable(fd_)) {
    const ssize_t got = ::read(fd_, buffer, size);
    if (got >= 0) {
      bytes_read_ += static_cast<std::size_t>(got);
      at_end_ = got == 0;
      return static_cast<std::size_t>(got);
    }
    if (errno != EINTR && errno != EAGAIN) {
      throw unreadable(name_, errno);
    }
  }
  return 0;
}

bool Input::is_terminal() const {
  return ::isatty(fd_) == 1;
}

bool Input::is_idle() const {
  pollfd waiting{fd_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 0;
}

void check_readable(const std::string& name) {
  if (name == "-") {
    return;
  }
  if (::faccessat(AT_FDCWD, name.c_str(), R_OK, AT_EACCESS) != 0) {
    throw unreadable(name, errno);
  }
  const auto info = stat_of_input(name);
  if (info && S_ISDIR(info->st_mode)) {
    throw unreadable(name, EISDIR);
  }
  if (info && S_ISREG(info->st_mode)) {
    std::array<char, 512> beginning{};
    static_cast<void>(Input(name).read(beginning.data(), beginning.size()));
  }
}

std::optional<std::uint64_t> size_of_input(const std::string& name) {
  const auto info = stat_of_input(name);
  return info && S_ISREG(info->st_mode) ? std::optional(static_cast<std::uint64_t>(info->st_size)) : std::nullopt;
}

bool is_same_file(const std::string& path, const std::string& input) {
  return is_regular_file(path, stat_of_input(input));
}

std::vector<IdLine> IdReader::next(std::size_t limit) {
  while (lines_.empty() && !ended_) {
    read_more();
  }
  const auto end = lines_.begin() + static_cast<std::ptrdiff_t>(std::min(limit, lines_.size()));
  std::vector<IdLine> batch(std::make_move_iterator(lines_.begin()), std::make_move_iterator(end));
  lines_.erase(lines_.begin(), end);
  return batch;
}

void IdReader::read_more() {
  std::array<char, 16 * 1024> chunk{};
  const std::size_t size = input_.read(chunk.data(), chunk.size());
  if (size == 0) {
    ended_ = true;
    if (!stop_requested()) {
      end_line();
    }
    return;
  }
  for (const char c : std::string_view(chunk.data(), size)) {
    if (c == '\n') {
      end_line();
    } else if (partial_.size() < longest_id_line &&
               !(partial_.empty() && base::json_white_space.find(c) != std::string_view::npos)) {
      partial_ += c;
    }
  }
}

void IdReader::end_line() {
  std::string text(base::trimmed(partial_));
  if (line_ == 1 && text.starts_with(byte_order_mark)) {
    text.erase(0, byte_order_mark.size());
  }
  if (!text.empty()) {
    const auto id = Uuid::parse(text);
    lines_.push_back({line_, std::move(text), id});
  }
  partial_.clear();
  ++line_;
}

Error not_an_id(std::optional<std::uint64_t> line, std::string_view text) {
  constexpr std::size_t longest = 40;  // columns; an id has at most 36, and another text may be private
  const std::string_view beginning = beginning_of_width(text, longest);
  Error::Context context;
  if (line) {
    context.emplace_back("line", std::to_string(*line));
  }
  context.emplace_back("id", std::string(beginning) + (beginning.size() < text.size() ? "..." : ""));
  return Error(ErrorCode::usage, "not an id", std::move(context), "give 32 hexadecimal digits; dashes are allowed");
}

std::vector<Uuid> parse_ids(const std::vector<std::string>& texts) {
  std::vector<Uuid> ids;
  for (const auto& text : texts) {
    const auto id = Uuid::parse(text);
    if (!id) {
      throw not_an_id({}, text);
    }
    ids.push_back(*id);
  }
  return ids;
}

bool means_standard_input(const std::vector<std::string>& ids) {
  const bool given = std::find(ids.begin(), ids.end(), "-") != ids.end();
  if (given && ids.size() > 1) {
    throw Error(ErrorCode::usage, "ids must come either from arguments or from standard input", {},
                "give - alone, or ids without it");
  }
  return given;
}

void hint_if_terminal(const Input& input, std::string_view what) {
  if (input.is_terminal()) {
    print_note(fmt::format("reading {} from the terminal; Ctrl-D ends", what));
  }
}

}  // namespace looseleaf::cli

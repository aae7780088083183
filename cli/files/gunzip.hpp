// Decompresses a stream of gzip data.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct z_stream_s;

namespace looseleaf::cli {

class Gunzip {
 public:
  static constexpr std::string_view magic = "\x1F\x8B";
  // Like read(2): waits for at least one byte and returns 0 at the end.
  using Source = std::function<std::size_t(char* buffer, std::size_t size)>;

  // `beginning` was read from the source already. `name` is for messages.
  Gunzip(std::string name, std::string_view beginning, Source source);
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip();

  // Returns at least one byte of the decompressed data of all members, one after another; 0 at the end, or once a
  // signal asks to stop. Throws Error(io) if the data is damaged or ends early.
  std::size_t read(char* buffer, std::size_t size);

 private:
  bool fill();
  [[noreturn]] void fail(const char* reason) const;

  const std::string name_;
  const Source source_;
  std::vector<unsigned char> input_;
  std::unique_ptr<z_stream_s> stream_;
  bool in_member_ = false;
  bool has_more_ = false;  // of what was read already
};

}  // namespace looseleaf::cli

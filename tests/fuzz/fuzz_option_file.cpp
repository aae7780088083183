// Option files: what was read survives being written down in quotation marks, and no foreign group has a say.
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <looseleaf/error.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "config/option_files.hpp"
#include "tests/fuzz/oracle.hpp"

namespace {

using namespace looseleaf;
using fuzz::require;

// Files of this process, removed at its end.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "a temporary folder can be made");
    path_ = name;
    ::umask(077);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string write(const char* name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// A file may include its neighbour, or itself, but nothing of this machine.
bool includes_others(const std::string& text) {
  std::size_t begin = 0;
  while ((begin = text.find('!', begin)) != std::string::npos) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (line.find('/') != std::string_view::npos || line.find("..") != std::string_view::npos) {
      return true;
    }
    begin = end;
  }
  return false;
}

bool same(const config::OptionFileValues& a, const config::OptionFileValues& b) {
  return a.user == b.user && a.password == b.password && a.password_given == b.password_given && a.tls == b.tls;
}

std::string quoted(const std::string& value) {
  constexpr std::string_view plain = "\b\t\n\r\\\"'";
  constexpr std::string_view codes = "btnr\\\"'";
  std::string out = "\"";
  for (const char c : value) {
    const std::size_t code = plain.find(c);
    if (code == std::string_view::npos) {
      out += c;
    } else {
      out += '\\';
      out += codes[code];
    }
  }
  return out + "\"\n";
}

std::string written(const config::OptionFileValues& values) {
  std::string text = "[client]\n";
  text += "user = " + quoted(values.user);
  if (values.password_given) {
    text += "password=" + quoted(values.password);
  }
  text += values.tls.mode ? "ssl-mode=" + to_string(*values.tls.mode) + "\n" : "";
  text += "ssl-ca=" + quoted(values.tls.ca) + "ssl_capath=" + quoted(values.tls.ca_path);
  text += "loose-ssl-cert=" + quoted(values.tls.cert) + "SSL-KEY=" + quoted(values.tls.key);
  return text;
}

std::optional<config::OptionFileValues> read(const std::string& file) {
  try {
    return config::read_option_files(file, {"shard2"}).at("shard2");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::bad_cluster, "an option file is refused as bad configuration");
    require(test::context_of(error, "file").starts_with('/'), "a complaint names the file");
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (includes_others(text)) {
    return -1;
  }
  const std::size_t half = std::min(text.find("\n=\n"), text.size());
  static_cast<void>(folder.write("more.cnf", text.substr(std::min(half + 3, text.size()))));
  const std::string first = text.substr(0, half);
  const auto values = read(folder.write("my.cnf", first));
  if (values) {
    const auto again = read(folder.write("written.cnf", written(*values)));
    require(again && same(*again, *values), "what was read can be written down");
    const std::string foreign = "\n[mysqld]\nuser=other\npassword=other\nssl-mode=disabled\nssl-ca=other\n";
    const auto with_foreign = read(folder.write("my.cnf", first + foreign));
    require(with_foreign && same(*with_foreign, *values), "a group of others has no say");
  }
  return 0;
}

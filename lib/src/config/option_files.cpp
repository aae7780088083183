// Reads option files like the servers' own clients (mysys/my_default.c).
#include "config/option_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <looseleaf/error.hpp>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace looseleaf::config {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string file;
  std::size_t line = 0;
};

[[noreturn]] void fail(const std::string& what, const Place& place, const std::string& hint) {
  Error::Context context = {{"file", place.file}};
  if (place.line > 0) {
    context.emplace_back("line", std::to_string(place.line));
  }
  throw Error(ErrorCode::bad_cluster, what, std::move(context), hint);
}

std::string_view trim(std::string_view text) {
  return base::trimmed(text, " \t\r\n\v\f");
}

// Throws if the file could not be opened because this process ran out of memory or descriptors. Otherwise an existing
// file would be skipped.
void throw_if_exhausted(const std::string& file, int error) {
  if (error == ENOMEM || error == EMFILE || error == ENFILE) {
    throw Error(ErrorCode::io, "an option file cannot be opened",
                {{"file", file}, {"reason", std::generic_category().message(error)}});
  }
}

// Removes a comment from the end of a line. A # inside quotation marks or after a backslash does not start a comment.
std::string_view without_comment(std::string_view text) {
  char quote = 0;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '"' || c == '\'') && !escaped) {
      quote = quote == 0 ? c : (quote == c ? '\0' : quote);
    }
    if (c == '#' && quote == 0) {
      return text.substr(0, i);
    }
    escaped = c == '\\' && !escaped && quote != 0;
  }
  return text;
}

std::string unescape(std::string_view text) {
  constexpr std::string_view codes = "btnrs\\\"'";
  constexpr std::string_view meanings = "\b\t\n\r \\\"'";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '\\' && i + 1 < text.size() ? codes.find(text[i + 1]) : std::string_view::npos;
    if (code == std::string_view::npos) {
      out += text[i];
    } else {
      out += meanings[code];
      ++i;
    }
  }
  return out;
}

std::string read_value(std::string_view raw) {
  std::string_view value = trim(raw);
  const bool quoted =
      value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.front() == value.back();
  if (quoted) {
    value = value.substr(1, value.size() - 2);
  }
  return unescape(value);
}

// Reads an option's name: "loose_ssl_ca" and "ssl-ca" are the same option.
std::string read_key(std::string_view raw) {
  std::string key = base::ascii_lower(trim(raw));
  std::replace(key.begin(), key.end(), '_', '-');
  constexpr std::string_view loose = "loose-";
  return key.starts_with(loose) ? key.substr(loose.size()) : key;
}

bool is_true(const std::string& value) {
  const std::string lower = base::ascii_lower(value);
  return lower != "0" && lower != "off" && lower != "false" && lower != "no";
}

// Applies ssl and ssl-verify-server-cert, which are only on or off. "On" never weakens a stronger mode of an earlier
// line. With verification off, TLS is still required.
// To verify nothing does not mean to encrypt: what is not encrypted otherwise stays so.
void set_tls_switch(OptionFileValues& values, bool verify_switch, bool on) {
  TlsSettings& tls = values.tls;
  if (verify_switch && on) {
    tls.mode = SslMode::verify_identity;
  } else if (verify_switch) {
    values.verify_by_default = false;
    tls.mode = tls.mode ? std::min(*tls.mode, SslMode::required) : tls.mode;
  } else if (!on) {
    tls.mode = SslMode::disabled;
  } else if (!tls.mode || *tls.mode < SslMode::required) {
    tls.mode = SslMode::required;
  }
}

void set_ssl_mode(TlsSettings& tls, const std::string& value, const Place& place) {
  std::string text = base::ascii_lower(value);
  std::replace(text.begin(), text.end(), '_', '-');
  tls.mode = parse_ssl_mode(text);
  if (!tls.mode) {
    fail("unknown ssl-mode", place, "use disabled, preferred, required, verify-ca or verify-identity");
  }
}

bool set_tls_value(OptionFileValues& values, const std::string& key, const std::string& value, const Place& place) {
  TlsSettings& tls = values.tls;
  const std::pair<std::string_view, std::string TlsSettings::*> files[] = {{"ssl-ca", &TlsSettings::ca},
                                                                           {"ssl-capath", &TlsSettings::ca_path},
                                                                           {"ssl-cert", &TlsSettings::cert},
                                                                           {"ssl-key", &TlsSettings::key}};
  for (const auto& [name, member] : files) {
    if (key == name) {
      tls.*member = value;
      return true;
    }
  }
  if (key == "ssl-mode") {
    set_ssl_mode(tls, value, place);
    return true;
  }
  for (const bool verify_switch : {false, true}) {
    const std::string name = verify_switch ? "ssl-verify-server-cert" : "ssl";
    if (key == name || key == "enable-" + name) {
      set_tls_switch(values, verify_switch, is_true(value));
      return true;
    }
    if (key == "skip-" + name || key == "disable-" + name) {
      set_tls_switch(values, verify_switch, false);
      return true;
    }
  }
  return false;
}

class Reader {
 public:
  // `named_by` says in hints where the first file was named.
  Reader(const std::set<std::string>& extra_groups, std::string named_by)
      : named_by_(std::move(named_by)), groups_(extra_groups) {
    groups_.insert(common_groups.begin(), common_groups.end());
  }

  // A file may be absent or unreadable unless it is `required`.
  void read(const std::string& file, bool required, int depth = 0, const Place* included_at = nullptr) {
    std::error_code ignored;
    std::ifstream in;
    errno = EISDIR;
    if (!fs::is_directory(file, ignored)) {
      in.open(file);
    }
    if (!in.is_open()) {
      const int error = errno;
      throw_if_exhausted(file, error);
      if (required) {
        reject_unreadable(file, error, included_at);
      }
      return;
    }
    if (++files_ > most_files) {
      fail("too many option files", {file}, "delete an !include of files that were read already");
    }
    std::string group;
    std::string line;
    Place place{file};
    std::istringstream text(contents(in, place));
    while (std::getline(text, line)) {
      ++place.line;
      read_line(trim(line), group, place, required, depth);
    }
  }

  [[nodiscard]] OptionFileValues merged(const std::string& extra_group) const {
    OptionFileValues all;
    for (const char* const group : common_groups) {
      merge(all, group);
    }
    if (!extra_group.empty()) {
      merge(all, extra_group);
    }
    all.has_extra_group = values_.contains(extra_group);
    return all;
  }

 private:
  [[noreturn]] void reject_unreadable(const std::string& file, int error, const Place* included_at) const {
    Error::Context context = {{"file", file}, {"reason", std::generic_category().message(error)}};
    if (included_at != nullptr) {
      context.emplace_back("included by", included_at->file + ", line " + std::to_string(included_at->line));
    }
    throw Error(ErrorCode::bad_cluster, "an option file cannot be read", std::move(context),
                "correct " + (included_at != nullptr ? "the !include" : named_by_) + ", or the file's permissions");
  }

  // Reads a file. A read error must not look like the end of the file.
  static std::string contents(std::istream& in, const Place& place) {
    std::string text;
    try {
      text = base::read_at_most(in, largest_file + 1);
    } catch (const std::ios::failure&) {
      fail("an option file cannot be read completely", place, "");
    }
    if (text.size() > largest_file) {
      fail("an option file is too large", place, "shorten it to at most 1 MiB");
    }
    return text;
  }

  void read_line(std::string_view line, std::string& group, const Place& place, bool required, int depth) {
    if (line.empty() || line.front() == '#' || line.front() == ';') {
      return;
    }
    if (line.front() == '!') {
      read_directive(line, place, required, depth);
    } else if (line.front() == '[') {
      const auto end = line.find(']');
      if (end == std::string_view::npos) {
        fail("a group name has no closing bracket", place, "write the group as [name] on a line of its own");
      }
      group = trim(line.substr(1, end - 1));
      if (groups_.contains(group)) {
        values_.try_emplace(group);
      }
    } else if (group.empty()) {
      fail("an option comes before the first group", place, "put it under [client] or [looseleaf]");
    } else if (groups_.contains(group)) {
      read_option(line, group, place);
    }
  }

  void read_option(std::string_view line, const std::string& group, const Place& place) {
    line = without_comment(line);
    const auto equals = line.find('=');
    const bool has_value = equals != std::string_view::npos;
    const std::string key = read_key(line.substr(0, equals));
    const std::string value = has_value ? read_value(line.substr(equals + 1)) : "";
    if (key.empty()) {
      fail("an option has no name", place, "write it as name=value");
    }
    OptionFileValues& values = values_[group];
    if (key == "user") {
      values.user = value;
    } else if (key == "password" && has_value) {
      reject_if_others_may_read(place.file);
      values.password = value;
      values.password_given = true;
    } else {
      set_tls_value(values, key, value, place);
    }
  }

  void read_directive(std::string_view line, const Place& place, bool required, int depth) {
    constexpr int deepest = 10;
    if (depth >= deepest) {
      fail("option files are nested too deeply", place, "delete the !include that forms a cycle");
    }
    const auto blank = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view directive = line.substr(0, blank);
    fs::path target = std::string(trim(line.substr(blank)));
    if (target.is_relative()) {
      target = fs::path(place.file).parent_path() / target;
    }
    if (directive == "!include") {
      read(target.string(), required, depth + 1, &place);
    } else if (directive == "!includedir") {
      read_directory(target, place, required, depth);
    } else {
      fail("a line that starts with ! is neither !include nor !includedir", place, "correct or delete the line");
    }
  }

  void read_directory(const fs::path& directory, const Place& place, bool required, int depth) {
    std::error_code error;
    std::vector<std::string> files;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".cnf") {
        files.push_back(entry->path().string());
      }
    }
    if (error && required) {
      throw Error(ErrorCode::bad_cluster, "an included directory cannot be read",
                  {{"file", place.file},
                   {"line", std::to_string(place.line)},
                   {"directory", directory.string()},
                   {"reason", error.message()}},
                  "correct the path, or the directory's permissions");
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      read(file, required, depth + 1, &place);
    }
  }

  void merge(OptionFileValues& all, const std::string& group) const {
    const auto found = values_.find(group);
    if (found == values_.end()) {
      return;
    }
    const OptionFileValues& more = found->second;
    if (!more.user.empty()) {
      all.user = more.user;
    }
    if (more.password_given) {
      all.password = more.password;
      all.password_given = true;
    }
    if (more.tls.mode) {
      all.tls.mode = more.tls.mode;
    } else if (!more.verify_by_default && all.tls.mode) {
      all.tls.mode = std::min(*all.tls.mode, SslMode::required);
    }
    all.verify_by_default = all.verify_by_default && more.verify_by_default;
    for (const auto member : {&TlsSettings::ca, &TlsSettings::ca_path, &TlsSettings::cert, &TlsSettings::key}) {
      if (!(more.tls.*member).empty()) {
        all.tls.*member = more.tls.*member;
      }
    }
  }

  static constexpr std::size_t largest_file = 1U << 20U;
  static constexpr int most_files = 1000;  // a limit, because files that include one another could be read endlessly

  static constexpr std::array common_groups = {"client", "looseleaf"};

  std::string named_by_;
  std::set<std::string> groups_;
  int files_ = 0;
  std::map<std::string, OptionFileValues> values_;  // of those groups that the files have
};

std::string home_directory() {
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : home;
}

}  // namespace

std::string expand_home(const std::string& path) {
  return path.starts_with("~/") ? home_directory() + path.substr(1) : path;
}

void reject_if_others_may_read(const std::string& file, const char* what) {
  struct stat status {};
  constexpr auto others = static_cast<mode_t>(S_IROTH | S_IWOTH);
  if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & others) != 0) {
    fail(what, {file}, "run chmod o-rw on the file");
  }
}

OptionFilesByGroup read_option_files(const std::string& defaults_file, const std::set<std::string>& extra_groups,
                                     const std::string& named_by) {
  Reader reader(extra_groups, named_by);
  if (!defaults_file.empty()) {
    reader.read(expand_home(defaults_file), true);
  } else {
    for (const char* const file : {"/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf"}) {
      reader.read(expand_home(file), false);
    }
  }
  OptionFilesByGroup by_group;
  for (const std::string& group : extra_groups) {
    by_group.emplace(group, reader.merged(group));
  }
  return by_group;
}

}  // namespace looseleaf::config

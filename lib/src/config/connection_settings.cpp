// Reads the files with users and passwords, and merges them with the cluster file.
#include "config/connection_settings.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <looseleaf/error.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/text.hpp"

namespace looseleaf::config {
namespace {

std::string first_not_empty(std::initializer_list<std::string> candidates) {
  const auto* const found =
      std::find_if(candidates.begin(), candidates.end(), [](const std::string& text) { return !text.empty(); });
  return found == candidates.end() ? "" : *found;
}

std::string operating_system_user() {
  std::array<char, 4096> buffer{};
  struct passwd entry {};
  struct passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return "";
}

std::string name_of_password_file() {
  const char* const file = std::getenv("LOOSELEAF_PASSWORD_FILE");
  return file == nullptr ? "" : file;
}

[[noreturn]] void reject_password_file(const std::string& file, const char* what, const char* hint) {
  throw Error(ErrorCode::bad_cluster, what, {{"file", file}}, hint);
}

std::string read_password_file(const std::string& file) {
  reject_if_others_may_read(file);
  errno = 0;
  std::ifstream in(file);
  int error = in.is_open() ? 0 : errno;
  constexpr std::size_t longest = 4096;
  std::string text;
  try {
    text = base::read_at_most(in, longest + 1);
  } catch (const std::ios::failure&) {
    error = errno == 0 ? EIO : errno;
  }
  if (error != 0) {
    throw Error(ErrorCode::bad_cluster, "the password file cannot be read",
                {{"file", file}, {"reason", std::generic_category().message(error)}},
                "correct LOOSELEAF_PASSWORD_FILE, or the file's permissions");
  }
  if (text.empty()) {
    reject_password_file(
        file, "the password file is empty",
        "write the password into the file that LOOSELEAF_PASSWORD_FILE names; a pipe can be read once");
  }
  std::string password = text.substr(0, text.find('\n'));
  if (password.size() > longest) {
    reject_password_file(file, "the first line of the password file is too long",
                         "use a password of at most 4096 bytes");
  }
  if (password.ends_with('\r')) {
    password.pop_back();
  }
  return password;
}

SslMode default_ssl_mode(const Address& address) {
  if (!address.socket.empty()) {
    return SslMode::disabled;
  }
  const bool is_ipv4 = address.host.find_first_not_of("0123456789.") == std::string::npos;
  const bool loopback =
      address.host == "localhost" || address.host == "::1" || (is_ipv4 && address.host.starts_with("127."));
  return loopback ? SslMode::preferred : SslMode::verify_identity;
}

TlsSettings resolve_tls(const TlsSettings& shard, const TlsSettings& cluster, const TlsSettings& files) {
  TlsSettings tls;
  for (const TlsSettings* source : {&shard, &cluster, &files}) {
    tls.mode = tls.mode ? tls.mode : source->mode;
  }
  for (const auto member : {&TlsSettings::ca, &TlsSettings::ca_path, &TlsSettings::cert, &TlsSettings::key}) {
    tls.*member = first_not_empty({shard.*member, cluster.*member, files.*member});
  }
  return tls;
}

OptionFilesByGroup read_files(const Cluster& cluster, const std::string& defaults_file) {
  std::set<std::string> groups;
  for (const ShardConfig& shard : cluster.shards) {
    groups.insert(shard.option_group);
  }
  if (!defaults_file.empty()) {
    return read_option_files(defaults_file, groups);
  }
  OptionFilesByGroup files = read_option_files(cluster.defaults_file, groups, "defaults_file in the cluster file");
  for (const ShardConfig& shard : cluster.shards) {
    if (!shard.option_group.empty() && !files.at(shard.option_group).has_extra_group) {
      throw Error(ErrorCode::bad_cluster, "no option file has the group of this shard",
                  {{"server", to_string(shard.address)}, {"option_group", shard.option_group}},
                  "correct \"option_group\" in the cluster file, or add the group to the option file");
    }
  }
  return files;
}

}  // namespace

ConnectionSettings::ConnectionSettings(const Cluster& cluster, Overrides overrides)
    : cluster_(&cluster), overrides_(std::move(overrides)), password_file_(name_of_password_file()) {
  const auto password = password_file_.empty() ? std::nullopt : std::optional(read_password_file(password_file_));
  files_ = read_files(cluster, overrides_.defaults_file);
  for (auto& [group, files] : files_) {
    files.password = password.value_or(files.password);
    files.password_given = files.password_given || password;
  }
  for (const ShardConfig& shard : cluster.shards) {
    OptionFileValues& files = files_.at(shard.option_group);
    if (first_not_empty({shard.user, cluster.user, files.user}).empty()) {
      files.user = operating_system_user();
    }
  }
}

sql::ConnectOptions ConnectionSettings::of(const ShardConfig& shard) const {
  const OptionFileValues& files = files_.at(shard.option_group);
  sql::ConnectOptions options;
  options.address = shard.address;
  options.database = shard.database;
  options.user = first_not_empty({shard.user, cluster_->user, files.user});
  options.password = files.password;
  options.password_given = files.password_given;
  options.tls = resolve_tls(shard.tls, cluster_->tls, files.tls);
  if (overrides_.ssl_mode) {
    options.tls.mode = overrides_.ssl_mode;
  } else if (!options.tls.mode) {
    const SslMode mode = default_ssl_mode(shard.address);
    options.tls.mode = files.verify_by_default ? mode : std::min(mode, SslMode::required);
  }
  if (*options.tls.mode != SslMode::disabled) {
    reject_if_others_may_read(options.tls.key, "the TLS private key file is accessible to other users");
  }
  return options;
}

ConnectionSettings ConnectionSettings::read_again() const {
  const std::string& defaults_file =
      overrides_.defaults_file.empty() ? cluster_->defaults_file : overrides_.defaults_file;
  for (const std::string& file : {expand_home(defaults_file), password_file_}) {
    std::error_code ignored;
    if (!file.empty() && std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored)) {
      throw Error(ErrorCode::bad_cluster, "only a regular file can be read again", {{"file", file}});
    }
  }
  ConnectionSettings now(*cluster_, overrides_);
  for (const auto& [group, files] : files_) {
    if (files.password_given && !now.files_.at(group).password_given) {  // files that may be absent are skipped
      throw Error(ErrorCode::bad_cluster, "no option file that can be read has a password any more", {},
                  "check the password in the option files, and their permissions");
    }
  }
  return now;
}

}  // namespace looseleaf::config

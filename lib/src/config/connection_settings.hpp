// What connections need: the settings of the caller, the cluster file and the shard, merged with what files say.
#pragma once

#include <looseleaf/cluster.hpp>
#include <optional>
#include <string>

#include "config/option_files.hpp"
#include "sql/connection.hpp"

namespace looseleaf::config {

struct Overrides {
  std::string defaults_file;
  std::optional<SslMode> ssl_mode;
};

// `cluster` outlives it.
class ConnectionSettings {
 public:
  // Reads the option files and the file that $LOOSELEAF_PASSWORD_FILE names.
  ConnectionSettings(const Cluster& cluster, Overrides overrides);

  // Merges all settings of a connection to one shard of the cluster. Explicit settings take precedence over option
  // files: first the caller's (`ssl_mode`, `defaults_file`), then the shard's, then the cluster's. The password is the
  // first line of the password file, or else from the option files. The default user is the operating system's user.
  // The default mode is verify-identity for TCP beyond loopback, preferred on loopback, and disabled on a socket.
  [[nodiscard]] sql::ConnectOptions of(const ShardConfig& shard) const;

  // Returns the file that the password was read from, if that is the one that $LOOSELEAF_PASSWORD_FILE names.
  [[nodiscard]] const std::string& password_file() const { return password_file_; }

  // Returns what the files say now. Throws Error if they cannot be read any more: the process may have given up the
  // right to read them, or one that was named is not a regular file, but perhaps a pipe.
  [[nodiscard]] ConnectionSettings read_again() const;

 private:
  const Cluster* cluster_;
  Overrides overrides_;
  std::string password_file_;
  OptionFilesByGroup files_;
};

}  // namespace looseleaf::config

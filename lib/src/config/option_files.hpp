// Reads the servers' option files (my.cnf). The client library is not used for this, because it would let them override
// explicit options.
#pragma once

#include <looseleaf/cluster.hpp>
#include <optional>
#include <string>

#include "sql/connection.hpp"

namespace looseleaf::config {

// The options found in the groups [client], [looseleaf] and the shard's own group. A later group takes precedence over
// an earlier one; within a group a later line or file does. Only options that a client needs are read. All others are
// ignored, including LOCAL INFILE, and the server's address, which is always in the cluster file.
struct OptionFileValues {
  std::string user, password;
  bool password_given = false;
  TlsSettings tls;
  bool has_extra_group = false;
  bool verify_by_default = true;  // otherwise a mode that nobody has set does not verify the server
};

// Reads `defaults_file`; if it is empty, reads those of /etc/my.cnf, /etc/mysql/my.cnf and ~/.my.cnf that exist and are
// readable. Follows !include and !includedir. Throws Error(bad_cluster) with file and line if `defaults_file` cannot be
// read, a line is malformed, or other users may read a file with a password. `named_by` says in the hint where the file
// was named.
[[nodiscard]] OptionFileValues read_option_files(const std::string& defaults_file, const std::string& extra_group,
                                                 const std::string& named_by = "--defaults-file");

struct Overrides {
  std::string defaults_file;
  std::optional<SslMode> ssl_mode;
};
// Merges all settings of a connection to one shard. Explicit settings take precedence over option files: first the
// caller's (`ssl_mode`, `defaults_file`), then the shard's, then the cluster's. The password is the first line of
// $LOOSELEAF_PASSWORD_FILE, or else from the option files. The default user is the operating system's user. The default
// mode is verify-identity for TCP beyond loopback, preferred on loopback, and disabled on a socket.
[[nodiscard]] sql::ConnectOptions resolve_connection(const Cluster& cluster, const ShardConfig& shard,
                                                     const Overrides& overrides);

}  // namespace looseleaf::config

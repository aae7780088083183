// The servers' option files (my.cnf), read by ourselves: the client library would let them override explicit options.
#pragma once

#include <looseleaf/cluster.hpp>
#include <optional>
#include <string>

#include "sql/connection.hpp"

namespace looseleaf::config {

// What was found in the groups [client], [looseleaf] and the shard's own; a later group wins over an earlier one, and
// within a group a later line or file. Only what a client needs: anything else, LOCAL INFILE included, is ignored, and
// so is the place of the server, which the cluster file always gives.
struct OptionFileValues {
  std::string user, password;
  bool password_given = false;
  TlsSettings tls;
};

// Reads `defaults_file` if it is not empty, else the usual files that are there and readable (/etc/my.cnf,
// /etc/mysql/my.cnf, ~/.my.cnf), with !include and !includedir. A named file that cannot be read, or a malformed line,
// throws Error(bad_cluster) with file and line; so does a file with a password that others may read. `named_by` is for
// the hint: what named the file.
[[nodiscard]] OptionFileValues read_option_files(const std::string& defaults_file, const std::string& extra_group,
                                                 const std::string& named_by = "--defaults-file");

// Everything that a connection to one shard needs. Explicit settings win over option files: the caller's (`ssl_mode`,
// `defaults_file`), then the shard's, then the cluster's. The password comes from the first line of
// $LOOSELEAF_PASSWORD_FILE, else from the option files. Without any user it is the operating system's; without any mode
// verify-identity for TCP beyond loopback, preferred on loopback, disabled on a socket.
struct Overrides {
  std::string defaults_file;
  std::optional<SslMode> ssl_mode;
};
[[nodiscard]] sql::ConnectOptions resolve_connection(const Cluster& cluster, const ShardConfig& shard,
                                                     const Overrides& overrides);

}  // namespace looseleaf::config

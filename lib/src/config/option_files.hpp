// Reads the servers' option files (my.cnf). The client library is not used for this, because it would let them override
// explicit options.
#pragma once

#include <looseleaf/cluster.hpp>
#include <map>
#include <set>
#include <string>

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

// What each of the extra groups gives. A shard that names none has the group "".
using OptionFilesByGroup = std::map<std::string, OptionFileValues>;

// Reads every file once for all groups. Reads `defaults_file`; if it is empty, reads those of /etc/my.cnf,
// /etc/mysql/my.cnf and ~/.my.cnf that exist and are readable. Follows !include and !includedir. Throws
// Error(bad_cluster) with file and line if `defaults_file` cannot be read, a line is malformed, or other users may read
// a file with a password. `named_by` says in the hint where the file was named.
[[nodiscard]] OptionFilesByGroup read_option_files(const std::string& defaults_file,
                                                   const std::set<std::string>& extra_groups,
                                                   const std::string& named_by = "--defaults-file");

// Returns the path with the home directory in place of a leading ~.
[[nodiscard]] std::string expand_home(const std::string& path);

// Throws Error(bad_cluster) if the file is a regular one that users outside its group may read or write.
void reject_if_others_may_read(const std::string& file,
                               const char* what = "a file with a password is accessible to other users");

}  // namespace looseleaf::config

// The cluster file: which servers hold which shards, and how to log in.
#pragma once

#include <cstdint>
#include <looseleaf/export.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf {

enum class SslMode { disabled, preferred, required, verify_ca, verify_identity };

// "disabled", "preferred", "required", "verify-ca" or "verify-identity"; absent for anything else.
[[nodiscard]] LOOSELEAF_EXPORT std::optional<SslMode> parse_ssl_mode(std::string_view text);
[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(SslMode mode);

struct TlsSettings {
  std::optional<SslMode> mode;
  std::string ca, ca_path, cert, key;  // file names; empty where not given

  bool operator==(const TlsSettings&) const = default;
};

// Where one server is: a TCP host and port, or a Unix socket.
struct Address {
  std::string host;  // empty if a socket is given
  std::uint16_t port = 3306;
  std::string socket;

  bool operator==(const Address&) const = default;
};

// "host:port" or the path of the socket, for messages.
[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(const Address& address);

inline constexpr std::uint32_t max_shards = 4096;  // of a cluster

struct ShardConfig {
  Address address;
  std::string database = "looseleaf";
  std::string user;          // empty: the cluster's, else the option files'
  std::string option_group;  // an option file group read in addition; may be empty
  TlsSettings tls;
  std::vector<Address> replicas;  // asked for their lag only

  bool operator==(const ShardConfig&) const = default;
};

struct Cluster {
  std::string file;  // where it was read from; empty if it was built in memory
  std::optional<Uuid> cluster_id;
  std::vector<ShardConfig> shards;
  std::string user;
  std::string defaults_file;  // empty: the usual option files
  TlsSettings tls;

  // Reads and checks a cluster file. Relative and ~ paths in it are resolved (relative to the file's folder).
  // Throws Error(bad_cluster) with file, line and column in the context, and the nearest valid key as a hint.
  [[nodiscard]] static LOOSELEAF_EXPORT Cluster load(const std::string& path);
  // The same from text; `path` is for messages and for relative paths.
  [[nodiscard]] static LOOSELEAF_EXPORT Cluster parse(std::string_view text, const std::string& path);
};

}  // namespace looseleaf

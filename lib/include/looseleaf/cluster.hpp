// The cluster file: it names the servers that hold the shards, and how to log in to them.
#pragma once

#include <chrono>
#include <cstdint>
#include <looseleaf/export.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf {

enum class SslMode { disabled, preferred, required, verify_ca, verify_identity };

// Accepts "disabled", "preferred", "required", "verify-ca" and "verify-identity". Returns nothing for any other text.
[[nodiscard]] LOOSELEAF_EXPORT std::optional<SslMode> parse_ssl_mode(std::string_view text);
[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(SslMode mode);

struct TlsSettings {
  std::optional<SslMode> mode;
  std::string ca, ca_path, cert, key;  // file names; an empty one is not set

  bool operator==(const TlsSettings&) const = default;
};

// The address of one server: a TCP host and port, or a Unix socket.
struct Address {
  std::string host;  // empty if a socket is given
  std::uint16_t port = 3306;
  std::string socket;

  bool operator==(const Address&) const = default;
};

// Returns "host:port" or the path of the socket, for messages.
[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(const Address& address);

inline constexpr std::uint32_t max_shards = 4096;  // the most shards that a cluster can have

// The most connections that a process has to one server (address, user and TLS settings): the smallest and the largest
// value that may be set, and the default.
inline constexpr std::uint32_t min_connections = 4, default_connections = 8, most_connections = 1000;

// The time for one operation with all its retries: its limits, and the default.
inline constexpr std::chrono::milliseconds min_timeout = std::chrono::milliseconds(1),
                                           default_timeout = std::chrono::seconds(30),
                                           longest_timeout = std::chrono::hours(24 * 366);

struct ShardConfig {
  Address address;
  std::string database = "looseleaf";
  std::string user;          // empty: use the cluster's user, or else the option files' user
  std::string option_group;  // one more option file group to read; may be empty
  TlsSettings tls;
  std::vector<Address> replicas;  // used only to measure their lag

  bool operator==(const ShardConfig&) const = default;
};

struct Cluster {
  std::string file;  // the path it was read from; empty if it was built in memory
  std::optional<Uuid> cluster_id;
  std::vector<ShardConfig> shards;
  std::string user;
  std::string defaults_file;  // empty: use the usual option files
  TlsSettings tls;
  std::uint32_t max_connections = default_connections;
  std::chrono::milliseconds timeout = default_timeout;

  // Reads and checks a cluster file. Resolves ~ and relative paths in it; they are relative to the file's folder.
  // Throws Error(bad_cluster) with file, line and column in the context. For an unknown key, the hint names the nearest
  // valid one.
  [[nodiscard]] static LOOSELEAF_EXPORT Cluster load(const std::string& path);
  // Does the same with a text. `path` is used in messages and to resolve relative paths.
  [[nodiscard]] static LOOSELEAF_EXPORT Cluster parse(std::string_view text, const std::string& path);
};

}  // namespace looseleaf

// The MariaDB or MySQL server that a sandbox runs: finding it, and data directories for it.
#pragma once

#include <string>

namespace looseleaf::cli {

enum class Flavour { mariadb, mysql };

struct ServerProgram {
  Flavour flavour = Flavour::mariadb;
  std::string path;     // absolute
  std::string version;  // "10.11.14-MariaDB"
};

// Returns `wanted`, or else what the environment's LOOSELEAF_TEST_SERVER names; empty if it names nothing.
[[nodiscard]] std::string requested_server(const std::string& wanted);

// The server that `wanted` names: a program, or a directory that holds one in bin/ or sbin/. If `wanted` is empty,
// what the environment's LOOSELEAF_TEST_SERVER names, else the first server installed. Throws Error(io) with a hint.
[[nodiscard]] ServerProgram find_server(const std::string& wanted);

// Makes `datadir` (which must not exist) a fresh data directory whose root logs in on the socket without a password.
// It is a copy of a template, kept per server version in the user's cache, else in `fallback_cache`.
// Safe against other processes that do the same. Throws Error(io) with the server's output.
void create_data_directory(const ServerProgram& server, const std::string& datadir, const std::string& fallback_cache);

}  // namespace looseleaf::cli

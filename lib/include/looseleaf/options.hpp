// How a program opens a store, and how it receives warnings.
#pragma once

#include <chrono>
#include <functional>
#include <looseleaf/cluster.hpp>
#include <looseleaf/error.hpp>
#include <optional>
#include <string>

namespace looseleaf {

struct Warning {
  std::string what;
  Error::Context context;
  std::string hint;
};

struct Options {
  // Limit for one operation including all its retries; takes precedence over the cluster file's.
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);  // at most `timeout`
  std::optional<std::uint32_t> max_connections;  // takes precedence over the cluster file's; at least min_connections
  std::string defaults_file;                     // takes precedence over the cluster file's; empty: use that one
  std::optional<SslMode> ssl_mode;               // takes precedence over the cluster file's
  // Called for each warning, from any thread, one call at a time. Most warnings are given once, but some again when
  // their cause lasts or returns. The function must not throw, and must not use this Datastore.
  std::function<void(const Warning&)> on_warning;
  // If an operation waits for a shard for more than two seconds, this is a warning. A program that repeats what fails,
  // and tells of the failure, may leave it out.
  bool warn_of_waits = true;
  // Called once for each user if a server wants a password and none is configured. Without it, connecting fails
  // instead. If it throws an Error, connecting fails with that, and the next connection asks again.
  std::function<std::optional<std::string>(const std::string& prompt)> ask_password;
};

}  // namespace looseleaf

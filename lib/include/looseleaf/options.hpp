// How a caller opens a store, and how it hears of what is no failure.
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
  std::chrono::milliseconds timeout = std::chrono::seconds(30);  // of one operation with all its retries
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  std::string defaults_file;        // beats the cluster file's; empty: that one
  std::optional<SslMode> ssl_mode;  // beats the cluster file's
  // Called from any thread, one call at a time, once for each distinct warning.
  std::function<void(const Warning&)> on_warning;
  // Asked once if a server wants a password and none is configured; absent: fail instead.
  std::function<std::optional<std::string>(const std::string& prompt)> ask_password;
};

}  // namespace looseleaf

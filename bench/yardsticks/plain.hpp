// What a plain program needs to write and read the tables without the library: sessions, literals, zlib. It is the
// yardsticks' own code, so that they stay as they are when the library gets faster.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sql/connector.hpp"
#ifndef LOOSELEAF_CONNECTOR_8
#include <cppconn/prepared_statement.h>
#endif

namespace looseleaf::bench {

// One shard, or one database of a server.
struct Place {
  std::string socket, database;
};

// The shards of a cluster file that names sockets.
[[nodiscard]] std::vector<Place> read_places(const std::string& cluster_file);

// A session as root, by default in autocommit, with the server's own settings. Throws what the connector throws.
class Session {
 public:
  explicit Session(const Place& place);

  void execute(const std::string& sql);
  [[nodiscard]] std::unique_ptr<::sql::ResultSet> query(const std::string& sql);
  [[nodiscard]] ::sql::Connection& connection() { return *connection_; }

 private:
  std::unique_ptr<::sql::Connection> connection_;
};

// Append a literal: x'00ff' of bytes, or 'text' with its quotes and backslashes escaped.
void append_bytes(std::string& sql, std::string_view bytes);
void append_text(std::string& sql, std::string_view text);

// Bodies to the bytes in the table and back, by zlib at level 6; one thread at a time.
class Codec {
 public:
  Codec();
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  ~Codec();

  // Both return a view that is good until the next call.
  [[nodiscard]] std::string_view encode(std::string_view text);
  // Throws std::runtime_error if the bytes are no body.
  [[nodiscard]] std::string_view decode(std::string_view body);

 private:
  z_stream deflate_{}, inflate_{};
  std::string buffer_;
};

// Runs `work` with each of the arguments on a thread of its own and throws what one of them threw.
template <typename Argument, typename Work>
void on_threads(std::vector<Argument>& arguments, const Work& work) {
  std::exception_ptr failure;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (Argument& argument : arguments) {
      threads.emplace_back([&] {
        try {
          work(argument);
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      });
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace looseleaf::bench

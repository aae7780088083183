// A server that was taken over answers a statement by asking for one of the client's files.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "tests/support/sockets.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr const char* canary = "this file is nobody's business";
constexpr std::size_t header_size = 4;
constexpr char com_query = 3;
constexpr std::string_view ok = "\x00\x00\x00\x02\x00\x00\x00"sv;

std::string greeting() {
  // Protocol 4.1, a database, transactions, secure authentication, LOCAL INFILE; named authentication plugins.
  return "\x0a"s + "10.11.0-MariaDB\0"s + "\x01\0\0\0"s + "saltsalt\0"s + "\x88\xa2"s + "\x2d\x02\x00"s + "\x08\x00"s +
         "\x15"s + std::string(10, '\0') + "saltsaltsalt\0"s + "mysql_native_password\0"s;
}

// One connection of a client, seen from the server.
class Session {
 public:
  explicit Session(int file) : file_(file) {}

  void send(std::string_view payload) {
    std::string packet;
    for (std::size_t i = 0, size = payload.size(); i < 3; ++i, size /= 256) {
      packet += static_cast<char>(static_cast<unsigned char>(size % 256));
    }
    send_all(file_, packet + static_cast<char>(next_++) + std::string(payload));
  }

  // Absent when the client has gone.
  std::optional<std::string> receive() {
    const auto header = read(header_size);
    if (!header) {
      return std::nullopt;
    }
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>((*header)[i])); };
    next_ = static_cast<unsigned char>(byte(3) + 1);
    return read(byte(0) + (byte(1) << 8U) + (byte(2) << 16U));
  }

 private:
  std::optional<std::string> read(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t done = 0; done < size;) {
      const ssize_t got = ::recv(file_, bytes.data() + done, size - done, 0);
      if (got <= 0) {
        return std::nullopt;
      }
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  int file_;
  unsigned char next_ = 0;
};

// Lets everybody in, says yes to statements, and answers one of each session with a request for `file`.
class RogueServer {
 public:
  RogueServer(std::string file, int statement)
      : file_(std::move(file)), statement_(statement), listener_(listen_on_loopback()), thread_([this] { run(); }) {}
  RogueServer(const RogueServer&) = delete;
  RogueServer& operator=(const RogueServer&) = delete;
  ~RogueServer() {
    stopped_ = true;
    thread_.join();
  }

  [[nodiscard]] std::uint16_t port() const { return port_of(listener_); }
  [[nodiscard]] int requests() const { return requests_; }
  // All that came in answer to the requests.
  [[nodiscard]] std::string loot() {
    const std::lock_guard lock(mutex_);
    return loot_;
  }

 private:
  void run() {
    while (!stopped_) {
      pollfd waiting{listener_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 20) == 1) {
        const cli::Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const timeval patience{20, 0};
        ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        serve(Session(client.get()));
      }
    }
  }

  void serve(Session session) {
    session.send(greeting());
    if (!session.receive()) {
      return;
    }
    session.send(ok);
    int statements = 0;
    while (const auto command = session.receive()) {
      if (command->empty() || command->front() != com_query || ++statements != statement_) {
        session.send(ok);
        continue;
      }
      ++requests_;
      session.send("\xfb" + file_);
      for (auto part = session.receive(); part && !part->empty(); part = session.receive()) {
        const std::lock_guard lock(mutex_);
        loot_ += *part;
      }
      session.send(ok);
    }
  }

  const std::string file_;
  const int statement_;
  cli::Descriptor listener_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> requests_ = 0;
  std::mutex mutex_;
  std::string loot_;
  std::thread thread_;
};

// The first statements of a session are the connector's and the session's set-up.
constexpr int statements_tried = 3;

TEST_CASE("a server that asks for a file gets none, whatever an option file allows") {
  const TemporaryDirectory directory;
  const std::string secret = directory.write("secret", canary);
  const std::string options = directory.write("client.cnf",
                                              "[client]\nlocal-infile=1\nloose-local-infile=1\nload-data-local-dir=/\n"
                                              "[looseleaf]\nlocal_infile\n");
  for (int statement = 1; statement <= statements_tried; ++statement) {
    CAPTURE(statement);
    RogueServer server(secret, statement);
    const std::string cluster = directory.write(
        "looseleaf.json", fmt::format(R"({{"shards": ["127.0.0.1:{}"], "user": "root", "ssl_mode": "disabled",
                                          "defaults_file": "{}"}})",
                                      server.port(), options));
    for (const std::string command : {"status", "init", "put", "verify"}) {
      const cli::ProcessResult result = run({"looseleaf", "--cluster", cluster, command, "--timeout", "1"}, "{}");
      CHECK(result.status == 3);
      CHECK(result.err.find(canary) == std::string::npos);
    }
    CHECK(server.requests() > 0);
    CHECK(server.loot() == "");
  }
}

TEST_CASE("the same server gets the file of a client that allows it") {
  const TemporaryDirectory directory;
  RogueServer server(directory.write("secret", canary), 1);
  const cli::ProcessResult result =
      run({"mariadb", "--no-defaults", "--host=127.0.0.1", fmt::format("--port={}", server.port()), "--user=root",
           "--skip-ssl", "--local-infile=1", "--batch", "--execute=SELECT 1"});
  CAPTURE(result.err);
  CHECK(server.loot() == canary);
}

}  // namespace
}  // namespace looseleaf::test

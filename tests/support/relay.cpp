#include "tests/support/relay.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "tests/support/sockets.hpp"

namespace looseleaf::test {
namespace {

constexpr short readable = POLLIN;

// False when there is no more to come.
bool pass_on(int from, int to) {
  std::array<char, 16384> bytes{};
  const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
  if (got > 0) {
    send_all(to, {bytes.data(), static_cast<std::size_t>(got)});
  }
  return got > 0;
}

}  // namespace

Relay::Relay(std::string socket) : socket_(std::move(socket)), listener_(listen_on_loopback()) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe for the relay");
  }
  wake_reader_ = cli::Descriptor(pipe[0]);
  wake_writer_ = cli::Descriptor(pipe[1]);
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  wake_writer_.close();
  thread_.join();
}

std::uint16_t Relay::port() const {
  return port_of(listener_);
}

void Relay::accept() {
  cli::Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  cli::Descriptor server = connect_to(socket_);
  if (client.get() >= 0 && server.get() >= 0) {
    connections_.emplace_back(std::move(client), std::move(server));
  }
}

void Relay::run() {
  while (true) {
    std::vector<pollfd> files{{wake_reader_.get(), readable, 0}, {listener_.get(), readable, 0}};
    for (const auto& [client, server] : connections_) {
      files.push_back({client.get(), readable, 0});
      files.push_back({server.get(), readable, 0});
    }
    ::poll(files.data(), files.size(), -1);
    if (files[0].revents != 0) {
      return;
    }
    std::size_t next = 2;
    for (auto pair = connections_.begin(); pair != connections_.end(); next += 2) {
      const int client = pair->first.get();
      const int server = pair->second.get();
      const bool open = (files[next].revents == 0 || pass_on(client, server)) &&
                        (files[next + 1].revents == 0 || pass_on(server, client));
      pair = open ? std::next(pair) : connections_.erase(pair);
    }
    if (files[1].revents != 0) {
      accept();
    }
  }
}

}  // namespace looseleaf::test

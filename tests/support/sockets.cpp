#include "tests/support/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <stdexcept>

namespace looseleaf::test {
namespace {

sockaddr* generic(void* address) {
  return static_cast<sockaddr*>(address);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

}  // namespace

cli::Descriptor listen_on_loopback() {
  cli::Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Accepted sockets inherit it. Else what is passed on in small pieces waits for the receiver's delayed ACK: 40 ms.
  const int no_delay = 1;
  ::setsockopt(listener.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay);
  if (::bind(listener.get(), generic(&address), sizeof address) != 0 || ::listen(listener.get(), SOMAXCONN) != 0) {
    throw std::runtime_error("the test cannot listen on loopback");
  }
  return listener;
}

cli::Descriptor listen_at(const std::string& path) {
  sockaddr_un address = address_of(path);
  cli::Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listener.get(), generic(&address), sizeof address) != 0 || ::listen(listener.get(), SOMAXCONN) != 0) {
    throw std::runtime_error("the test cannot listen at " + path);
  }
  return listener;
}

std::uint16_t port_of(const cli::Descriptor& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(listener.get(), generic(&address), &size);
  return ntohs(address.sin_port);
}

cli::Descriptor connect_to(const std::string& path) {
  sockaddr_un address = address_of(path);
  cli::Descriptor server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(server.get(), generic(&address), sizeof address) != 0) {
    server.close();
  }
  return server;
}

void send_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace looseleaf::test

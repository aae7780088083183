// Sockets for tests that stand between the program and a server, or in a server's place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/files/descriptor.hpp"

namespace looseleaf::test {

// On a free port of loopback. Throws std::runtime_error if there is none.
[[nodiscard]] cli::Descriptor listen_on_loopback();
// At a path, as a server's socket.
[[nodiscard]] cli::Descriptor listen_at(const std::string& path);
[[nodiscard]] std::uint16_t port_of(const cli::Descriptor& listener);
// To a server's socket; negative if nobody listens there.
[[nodiscard]] cli::Descriptor connect_to(const std::string& path);
// Gives up in silence if the reader has gone.
void send_all(int file, std::string_view bytes);

}  // namespace looseleaf::test

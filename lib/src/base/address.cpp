// Converts TLS modes and addresses to text, for files and messages.
#include <fmt/format.h>

#include <array>
#include <looseleaf/cluster.hpp>
#include <utility>

namespace looseleaf {
namespace {

constexpr std::array<std::pair<std::string_view, SslMode>, 5> ssl_modes = {{
    {"disabled", SslMode::disabled},
    {"preferred", SslMode::preferred},
    {"required", SslMode::required},
    {"verify-ca", SslMode::verify_ca},
    {"verify-identity", SslMode::verify_identity},
}};

}  // namespace

std::optional<SslMode> parse_ssl_mode(std::string_view text) {
  for (const auto& [name, mode] : ssl_modes) {
    if (name == text) {
      return mode;
    }
  }
  return std::nullopt;
}

std::string to_string(SslMode mode) {
  for (const auto& [name, known] : ssl_modes) {
    if (known == mode) {
      return std::string(name);
    }
  }
  return {};
}

std::string to_string(const Address& address) {
  if (!address.socket.empty()) {
    return address.socket;
  }
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", address.host, address.port) : fmt::format("{}:{}", address.host, address.port);
}

}  // namespace looseleaf

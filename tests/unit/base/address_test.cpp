// Names of TLS modes and servers.
#include <doctest/doctest.h>

#include <looseleaf/cluster.hpp>

using namespace looseleaf;

TEST_CASE("every TLS mode is read back from its own name") {
  for (const SslMode mode :
       {SslMode::disabled, SslMode::preferred, SslMode::required, SslMode::verify_ca, SslMode::verify_identity}) {
    CHECK(parse_ssl_mode(to_string(mode)) == mode);
  }
  CHECK(to_string(SslMode::verify_identity) == "verify-identity");
}

TEST_CASE("TLS modes are written exactly as documented") {
  for (const char* text : {"", "REQUIRED", "verify_ca", "on", "required "}) {
    CAPTURE(text);
    CHECK_FALSE(parse_ssl_mode(text));
  }
}

TEST_CASE("an address is shown so that it can be pasted into a cluster file") {
  CHECK(to_string(Address{"db1", 3307, ""}) == "db1:3307");
  CHECK(to_string(Address{"::1", 3306, ""}) == "[::1]:3306");
  CHECK(to_string(Address{"", 3306, "/run/a.sock"}) == "/run/a.sock");
}

#include "sql/connector_options.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace looseleaf::sql {
namespace {

int whole_seconds(std::chrono::milliseconds duration) {
  return static_cast<int>(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(duration).count()));
}

// Does not use map[name] = value: if memory runs out, the connector's assignment of a Variant destroys the old value
// twice.
template <typename Value>
void add(::sql::ConnectOptionsMap& map, const char* name, const Value& value) {
  map.emplace(name, value);
}

#ifdef LOOSELEAF_CONNECTOR_8
void add_tls_mode(::sql::ConnectOptionsMap& map, SslMode mode) {
  constexpr int disabled = 1;  // SSL_MODE_DISABLED; the other modes follow in the order of SslMode
  add(map, "OPT_SSL_MODE", disabled + static_cast<int>(mode));
}
#else
// Even if TLS is enforced, the client library continues without it if the server has none. So Connection checks the
// cipher. The library can only verify chain and host name together, so verify-ca is verify-identity here.
void add_tls_mode(::sql::ConnectOptionsMap& map, SslMode mode) {
  add(map, "sslEnforce", mode != SslMode::disabled);
  add(map, "sslVerify", mode == SslMode::verify_ca || mode == SslMode::verify_identity);
}
#endif

void add_tls(::sql::ConnectOptionsMap& map, const TlsSettings& tls, SslMode mode) {
  add_tls_mode(map, mode);
  if (mode == SslMode::disabled) {
    return;
  }
  const std::pair<const char*, const std::string&> files[] = {
      {"sslCA", tls.ca}, {"sslCAPath", tls.ca_path}, {"sslCert", tls.cert}, {"sslKey", tls.key}};
  for (const auto& [key, file] : files) {
    if (!file.empty()) {
      add(map, key, ::sql::SQLString(file));
    }
  }
}

}  // namespace

::sql::ConnectOptionsMap connector_options(const ConnectOptions& options) {
  ::sql::ConnectOptionsMap map;
  if (options.address.socket.empty()) {
    add(map, "hostName", ::sql::SQLString("tcp://[" + options.address.host + "]"));
    add(map, "port", static_cast<int>(options.address.port));
  } else {
    add(map, "hostName", ::sql::SQLString("unix://" + options.address.socket));
  }
  add(map, "userName", ::sql::SQLString(options.user));
  add(map, "password", ::sql::SQLString(options.password));
  if (!options.database.empty()) {
    add(map, "schema", ::sql::SQLString(options.database));
  }
  add(map, "OPT_CONNECT_TIMEOUT", whole_seconds(options.connect_timeout));
  add(map, "OPT_READ_TIMEOUT", whole_seconds(options.read_timeout));
  add(map, "OPT_WRITE_TIMEOUT", whole_seconds(options.read_timeout));
  add(map, "OPT_LOCAL_INFILE", 0);
  add(map, "OPT_RECONNECT", false);
  add(map, "CLIENT_MULTI_STATEMENTS", true);  // for the packets that begin a transaction; see require_one_statement()
  add(map, "OPT_CHARSET_NAME", ::sql::SQLString("utf8mb4"));
  add_tls(map, options.tls, options.tls.mode.value_or(SslMode::verify_identity));
  return map;
}

}  // namespace looseleaf::sql

// What the connector is told of a session that it is to open.
#pragma once

#include "sql/connection.hpp"
#include "sql/connector.hpp"

namespace looseleaf::sql {

// TLS is asked for as `tls.mode` says. With Connector/C++ 1.1 the server may still have none, so the caller checks
// that.
[[nodiscard]] ::sql::ConnectOptionsMap connector_options(const ConnectOptions& options);

}  // namespace looseleaf::sql

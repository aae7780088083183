// The one include of MySQL Connector/C++'s JDBC-style API: 1.1, or 8 and 9 with LOOSELEAF_CONNECTOR_8.
#pragma once

#ifdef LOOSELEAF_CONNECTOR_8
#include <mysql/jdbc.h>
#else
#include <cppconn/connection.h>
#include <cppconn/driver.h>
#include <cppconn/exception.h>
#include <cppconn/metadata.h>
#include <cppconn/prepared_statement.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>
#endif

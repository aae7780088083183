# Finds MySQL Connector/C++'s JDBC-style API: Debian's 1.1 (cppconn/driver.h), or 8 and 9 (mysql/jdbc.h).
# Defines the target MysqlConnector::jdbc; LOOSELEAF_CONNECTOR_8 is a compile definition of it for 8 and 9.
find_path(MysqlConnector_INCLUDE_DIR NAMES cppconn/driver.h)
find_library(MysqlConnector_LIBRARY NAMES mysqlcppconn)
set(MysqlConnector_DEFINITIONS "")
if(NOT MysqlConnector_INCLUDE_DIR)
  find_path(MysqlConnector_INCLUDE_DIR NAMES mysql/jdbc.h PATH_SUFFIXES mysql-cppconn mysql-cppconn-8)
  set(MysqlConnector_DEFINITIONS LOOSELEAF_CONNECTOR_8)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MysqlConnector
  REQUIRED_VARS MysqlConnector_LIBRARY MysqlConnector_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libmysqlcppconn-dev (Debian)")
if(MysqlConnector_FOUND AND NOT TARGET MysqlConnector::jdbc)
  add_library(MysqlConnector::jdbc UNKNOWN IMPORTED)
  set_target_properties(MysqlConnector::jdbc PROPERTIES
    IMPORTED_LOCATION "${MysqlConnector_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${MysqlConnector_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS "${MysqlConnector_DEFINITIONS}")
endif()
mark_as_advanced(MysqlConnector_INCLUDE_DIR MysqlConnector_LIBRARY)

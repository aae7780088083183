// Loaded into the program (LD_PRELOAD): its sessions count the rows that a statement finds, as a proxy may have it.
#include <dlfcn.h>
#include <mysql.h>

extern "C" __attribute__((visibility("default"))) MYSQL* mysql_real_connect(MYSQL* connection, const char* host,
                                                                            const char* user, const char* password,
                                                                            const char* database, unsigned port,
                                                                            const char* socket, unsigned long flags) {
  using Connect = decltype(&mysql_real_connect);
  const auto connect = reinterpret_cast<Connect>(dlsym(RTLD_NEXT, "mysql_real_connect"));
  return connect(connection, host, user, password, database, port, socket, flags | CLIENT_FOUND_ROWS);
}

// Recognises a server that was demoted.
#include "shard/writable.hpp"

#include "sql/errors.hpp"

namespace looseleaf::shard {

void require_writable(const sql::Database& database, const std::string& read_only) {
  if (read_only != "0" && read_only != "OFF") {
    database->mark_broken();
    throw sql::ServerError(sql::ErrorClass::failing_over, 0, ErrorCode::unavailable,
                           "server became read-only, as in a failover", {{"server", to_string(database->address())}},
                           "make the cluster file lead to the server that is writable now");
  }
}

void require_still_writable(const sql::Database& database) {  // MySQL's super_read_only implies read_only
  require_writable(database, database->query("SELECT @@global.read_only").text(0, 0));
}

}  // namespace looseleaf::shard

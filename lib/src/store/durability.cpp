// A commit of something later: the log is written in order. What is inserted is never seen, as it is deleted again.
#include "store/durability.hpp"

#include <fmt/format.h>

#include "base/random.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::store {

void make_durable(sql::Connection& connection) {
  const std::string key = fmt::format("{:016x}", base::random_u64());
  sql::Transaction transaction(connection);
  connection.execute(
      fmt::format("INSERT INTO looseleaf_progress (job, table_name, generation, token, holder, since, heartbeat) "
                  "VALUES ('flush', '{}', 0, 0, '', NOW(6), NOW(6))",
                  key));
  connection.execute(fmt::format("DELETE FROM looseleaf_progress WHERE job = 'flush' AND table_name = '{}'", key));
  transaction.commit();
}

}  // namespace looseleaf::store

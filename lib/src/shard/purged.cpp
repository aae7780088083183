// A row of looseleaf_progress holds the stamp. It belongs to no job.
#include "shard/purged.hpp"

#include <fmt/format.h>

#include "sql/literals.hpp"

namespace looseleaf::shard {

std::string purged_below_query(const sql::Database& database) {
  return fmt::format("(SELECT barrier FROM {} WHERE job = 'purged' AND table_name = '')",
                     database.table("looseleaf_progress"));
}

void raise_purged_below(const sql::Database& database, base::Stamp stamp) {
  database->execute(
      fmt::format("INSERT INTO {} (job, table_name, generation, barrier, token, holder, since, heartbeat) "
                  "VALUES ('purged', '', 0, {}, 0, '', NOW(6), NOW(6)) "
                  "ON DUPLICATE KEY UPDATE barrier = GREATEST(barrier, VALUES(barrier)), heartbeat = VALUES(heartbeat)",
                  database.table("looseleaf_progress"), sql::stamp_literal(stamp)));
}

}  // namespace looseleaf::shard

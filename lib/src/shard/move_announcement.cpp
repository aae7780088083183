// The name of a key of `entities` is what all reads of entities look at anyway.
#include "shard/move_announcement.hpp"

#include <fmt/format.h>

#include <string>

#include "shard/steps.hpp"
#include "sql/errors.hpp"

namespace looseleaf::shard {
namespace {

// Returns false if the server says that there is no such key.
bool knows_key(const sql::Database& database, const std::string& statement) {
  try {
    database->execute(statement);
  } catch (const sql::ServerError& error) {
    if (error.number() != unknown_key) {
      throw;
    }
    return false;
  }
  return true;
}

bool reads_pass(const sql::Database& database) {
  return knows_key(database,
                   fmt::format("DO (SELECT id FROM {}{} LIMIT 1)", database.table("entities"), unless_announced));
}

void announce(const sql::Database& database) {
  if (!reads_pass(database)) {
    return;
  }
  database.select();
  static_cast<void>(
      knows_key(database, "ALTER TABLE entities RENAME INDEX updated TO may_have_moved, ALGORITHM=INPLACE, LOCK=NONE"));
  if (reads_pass(database)) {  // servers take the beginning of a key's name for the name
    throw Error(ErrorCode::server, "the table `entities` has a key of its own whose name begins with `updated`", {},
                "give it another name, because reads learn by the name `updated` that a store moves");
  }
}

}  // namespace

void announce_move(Shards& shards, std::uint32_t shard) {
  const Step step(steps::move_announce, shard);
  if (step.left_out()) {
    return;
  }
  try {
    with_shard(shards, shard, shards.deadline(), announce);
  } catch (const sql::ServerError& error) {
    if (error.error_class() == sql::ErrorClass::conflict) {
      throw Error(ErrorCode::unavailable, "reads cannot be told yet that the store moves", error.context(),
                  "a transaction or a backup uses the table `entities` for long; end it, or wait for it, and run the "
                  "command again");
    }
    throw;
  }
}

void require_may_announce(const sql::Database& database) {
  static_cast<void>(knows_key(
      database, fmt::format("ALTER TABLE {} RENAME INDEX no_such_key TO may_have_moved", database.table("entities"))));
}

}  // namespace looseleaf::shard

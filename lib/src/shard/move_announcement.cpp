// The name of a key of `entities` is what all reads of entities look at anyway.
#include "shard/move_announcement.hpp"

#include <fmt/format.h>

#include <atomic>
#include <string>

#include "shard/steps.hpp"
#include "sql/errors.hpp"
#include "sql/literals.hpp"

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

// Servers take the unambiguous beginning of a key's name for the name.
Error key_of_its_own() {
  return {ErrorCode::server,
          "the table `entities` has a key of its own whose name begins with `updated`",
          {},
          "give it another name, because reads learn by the name `updated` that a store moves"};
}

// Either would be found out by the attempt to give the key another name, but only after the whole copy.
void refuse_other_keys(const sql::Database& database) {
  const sql::Result names = database->query(fmt::format(
      "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = {} AND table_name = "
      "'entities' AND (index_name LIKE 'updated%' OR index_name = 'may_have_moved') ORDER BY index_name",
      sql::text_literal(database.name())));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names.text(i, 0).size() > std::string_view("updated").size() && names.text(i, 0) != "may_have_moved") {
      throw key_of_its_own().with("key", names.text(i, 0));
    }
  }
  if (names.size() > 1) {
    throw Error(ErrorCode::server, "the table `entities` has both keys, `updated` and `may_have_moved`", {},
                "delete the second one: `ALTER TABLE entities DROP INDEX may_have_moved`");
  }
}

void announce(const sql::Database& database) {
  if (!reads_pass(database)) {
    return;
  }
  database.select();
  static_cast<void>(
      knows_key(database, "ALTER TABLE entities RENAME INDEX updated TO may_have_moved, ALGORITHM=INPLACE, LOCK=NONE"));
  if (reads_pass(database)) {
    throw key_of_its_own();
  }
}

void announce(Shards& shards, std::uint32_t shard, const base::Deadline& deadline) {
  const Step step(steps::move_announce, shard);
  if (step.left_out()) {
    return;
  }
  try {
    with_shard(shards, shard, deadline, [](const sql::Database& database) { announce(database); });
  } catch (const sql::ServerError& error) {
    if (error.error_class() == sql::ErrorClass::conflict) {
      throw Error(ErrorCode::unavailable, "reads cannot be told yet that the store moves", error.context(),
                  "a transaction or a backup uses the table `entities` for long; end it, or wait for it, and run the "
                  "command again");
    }
    throw;
  }
}

}  // namespace

void announce_move(Shards& shards, const std::function<bool()>& stopped) {
  const base::Deadline deadline = shards.deadline();
  std::atomic<bool> has_failed = false;
  for_each_shard(shards, [&](std::uint32_t shard) {
    if (has_failed || stopped()) {
      return;
    }
    try {
      announce(shards, shard, deadline);
    } catch (const Error&) {
      has_failed = true;
      throw;
    }
  });
}

void require_may_announce(const sql::Database& database) {
  refuse_other_keys(database);
  static_cast<void>(knows_key(
      database, fmt::format("ALTER TABLE {} RENAME INDEX no_such_key TO may_have_moved", database.table("entities"))));
}

}  // namespace looseleaf::shard

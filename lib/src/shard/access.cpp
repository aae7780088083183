// The columns `access` and `access_...` of looseleaf_shard.
#include "shard/access.hpp"

#include <fmt/format.h>

#include "shard/schema.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

Error::Context facts(const Access& access) {
  return {{access.state == AccessState::moved ? "to" : "reason", access.reason},
          {"by", access.holder},
          {"since", access.since + " UTC"}};
}

}  // namespace

Access read_access(const sql::Database& database) {
  const sql::Result row = database->query(
      fmt::format("SELECT access, access_token, access_reason, access_holder, access_since FROM {} WHERE only_row = 1",
                  database.table("looseleaf_shard")));
  if (row.empty()) {
    throw NotInitialised();
  }
  return {parse_access_state(row.text(0, 0)), row.unsigned_integer(0, 1), row.text(0, 2), row.text(0, 3),
          row.text(0, 4)};
}

bool change_access(Shards& shards, std::uint32_t shard, std::uint64_t from, const Access& to,
                   const base::Deadline& deadline) {
  bool changed = false;
  with_fence_exclusive(shards, shard, deadline, [&](const sql::Database& database, const Fence& fence) {
    changed = fence.access_token == from || fence.access_token == to.token;
    if (fence.access_token == from) {
      database->execute(
          fmt::format("UPDATE {} SET access = '{}', access_token = {}, access_reason = {}, access_holder = {}, "
                      "access_since = NOW(6) WHERE only_row = 1",
                      database.table("looseleaf_shard"), to_string(to.state), to.token, sql::text_literal(to.reason),
                      sql::text_literal(to.holder)));
    }
  });
  return changed;
}

void require_write_access(const Shards& shards, const sql::Database& database, const Fence& fence) {
  if (fence.access == AccessState::open || fence.access_token == shards.access_token()) {
    return;
  }
  const Access access = read_access(database);
  switch (fence.access) {
    case AccessState::open:
    case AccessState::frozen:
      throw Error(ErrorCode::frozen, "the store is frozen, and takes no writes", facts(access),
                  "wait until it is open again; `looseleaf status` shows it, and `looseleaf thaw` opens it");
    case AccessState::moving:
      throw sql::ServerError(sql::ErrorClass::conflict, 0, ErrorCode::unavailable,
                             "the store is about to move, and takes no writes", facts(access),
                             "retry, or use a longer --timeout");
    case AccessState::moved:
      throw Error(ErrorCode::moved, "the store has moved, and takes no writes", facts(access),
                  "use the cluster file of the new store");
  }
}

}  // namespace looseleaf::shard

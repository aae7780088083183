// The columns `access` and `access_...` of looseleaf_shard.
#include "shard/access.hpp"

#include <fmt/format.h>

#include "shard/schema.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

constexpr const char* use_the_new_store = "use the cluster file of the new store";

// A process that has a token relies on it that nobody else writes. So it may not write to a shard that is open.
bool may_write(const Shards& shards, AccessState state, std::uint64_t token) {
  return shards.access_token() == 0 ? state == AccessState::open : token == shards.access_token();
}

[[noreturn]] void refuse_write(const Access& access) {
  switch (access.state) {
    case AccessState::open:
      throw Error(ErrorCode::busy, "the store was thawed, and takes the writes of others", {},
                  "begin again with an empty store; this one is no copy any more");
    case AccessState::frozen:
      break;
    case AccessState::moving:
      throw sql::ServerError(sql::ErrorClass::conflict, 0, ErrorCode::unavailable,
                             "the store is about to move, and takes no writes", facts(access),
                             "retry, or use a longer --timeout");
    case AccessState::moved:
      throw Error(ErrorCode::moved, "the store has moved, and takes no writes", facts(access), use_the_new_store);
  }
  throw Error(ErrorCode::frozen, "the store is frozen, and takes no writes", facts(access),
              "wait until it is open again; `looseleaf status` shows it, and `looseleaf thaw` opens it");
}

}  // namespace

Error::Context facts(const Access& access) {
  return {{access.state == AccessState::moved ? "to" : "reason", access.reason},
          {"by", access.holder},
          {"since", access.since + " UTC"}};
}

Error has_moved(const Access& access) {
  return {ErrorCode::moved, "the store has moved", facts(access), use_the_new_store};
}

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

// An earlier attempt may have changed the state, but its commit may not be on disk yet. So the row is written again,
// and the commit waits for the disk.
bool change_access(Shards& shards, std::uint32_t shard, std::uint64_t from, const Access& to,
                   const base::Deadline& deadline) {
  bool changed = false;
  with_fence_exclusive(shards, shard, deadline, [&](const sql::Database& database, const Fence& fence) {
    const bool stays = fence.access == AccessState::moved && to.state != AccessState::moved;
    changed = !stays && (fence.access_token == from || (fence.access_token == to.token && fence.access == to.state));
    if (changed) {
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
  if (!may_write(shards, fence.access, fence.access_token)) {
    refuse_write(read_access(database));
  }
}

void require_write_access(Shards& shards, std::span<const std::uint32_t> some, const base::Deadline& deadline) {
  for_shards(shards, some, [&](std::uint32_t shard) {
    with_shard(shards, shard, deadline, [&](const sql::Database& database) {
      const Access access = read_access(database);
      require_still_writable(database);
      if (!may_write(shards, access.state, access.token)) {
        refuse_write(access);
      }
    });
  });
}

void require_not_moved(Lease& lease, std::span<const std::uint32_t> shards) {
  for (const std::uint32_t shard : shards) {
    const Access access = read_access(lease.on(shard));
    if (access.state == AccessState::moved) {
      throw has_moved(access);
    }
  }
}

}  // namespace looseleaf::shard

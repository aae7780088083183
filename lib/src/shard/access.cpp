// The columns `access` and `access_...` of looseleaf_shard.
#include "shard/access.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "shard/durability.hpp"
#include "shard/schema.hpp"
#include "shard/steps.hpp"
#include "sql/literals.hpp"
#include "sql/retry.hpp"

namespace looseleaf::shard {
namespace {

constexpr int seconds_of_a_new_state = 2;  // a move takes less
constexpr const char* use_the_new_store = "use the cluster file of the new store";

// A process that has a token relies on it that nobody else writes. So it may not write to a shard that is open.
bool may_write(const Shards& shards, AccessState state, std::uint64_t token) {
  return shards.access_token() == 0 ? state == AccessState::open : token == shards.access_token();
}

constexpr std::string_view copy_begins = "a copy of cluster ";

// Says what to do if the process has died for which writers wait.
std::string hint_for_writers(const Access& access) {
  if (access.state == AccessState::opening) {
    return "if it lasts, run the `looseleaf copy --finish` again that moves the store";
  }
  return fmt::format("if the process that moves the store has died, `looseleaf thaw` opens it{}",
                     access.until.empty() ? "" : ", and writers do so themselves after " + access.until + " UTC");
}

std::string hint_of(const Shards& shards, const Access& access) {
  if (const auto hint = hint_for_copy(shards, access)) {
    return *hint;
  }
  return "wait until it is open again; `looseleaf status` shows it, and `looseleaf thaw` opens it";
}

[[noreturn]] void refuse_write(const Shards& shards, std::uint32_t shard, const Access& access) {
  switch (access.state) {
    case AccessState::open:
      throw Error(ErrorCode::busy, "the store was thawed, and takes the writes of others", {},
                  "begin again with an empty store; this one is no copy any more");
    case AccessState::frozen:
      break;
    case AccessState::moving:
    case AccessState::opening:
      throw AboutToMove(shard, access);
    case AccessState::moved:
      throw Error(ErrorCode::moved, "the store has moved, and takes no writes", facts(access), use_the_new_store);
  }
  throw Error(ErrorCode::frozen, "the store is frozen, and takes no writes", facts(access), hint_of(shards, access));
}

}  // namespace

AboutToMove::AboutToMove(std::uint32_t shard, const Access& access)
    : ServerError(sql::ErrorClass::conflict, 0, ErrorCode::unavailable,
                  access.state == AccessState::opening ? "another store is about to move here, and writes wait for that"
                                                       : "the store is about to move, and takes no writes",
                  facts(access), "retry; " + hint_for_writers(access)),
      shard_(shard),
      access_(access) {}

AboutToMove::~AboutToMove() = default;

std::optional<std::string> hint_for_copy(const Shards& shards, const Access& access) {
  if (!access.reason.starts_with(copy_begins)) {
    return std::nullopt;
  }
  return fmt::format("this is a copy: write to the original; {} makes the copy a store of its own",
                     copy_command("", shards.cluster().file, "--detach"));
}

Error::Context facts(const Access& access) {
  return {{access.state == AccessState::moved ? "to" : "reason", access.reason},
          {"by", access.holder},
          {"since", access.since + " UTC"}};
}

Error has_moved(const Access& access) {
  return {ErrorCode::moved, "the store has moved", facts(access), use_the_new_store};
}

void warn_if_moved(Shards& shards, std::uint32_t shard, const base::Deadline& deadline) {
  const Access access = read_shard(shards, shard, deadline, read_access);
  if (access.state == AccessState::moved) {
    shards.warnings().give({"the store has moved; this is how it was then", facts(access), use_the_new_store});
  }
}

std::string name_of_cluster(const Uuid& cluster) {
  return "cluster " + to_string(cluster);
}

std::string reason_of_copy(const Uuid& origin) {
  return fmt::format("{}{} is being made here", copy_begins, to_string(origin));
}

std::string copy_command(const std::string& from, const std::string& to, const std::string& options) {
  return fmt::format("`looseleaf --cluster {} copy --to {} {}`", from.empty() ? "ORIGINAL" : base::shell_word(from),
                     to.empty() ? "COPY" : base::shell_word(to), options);
}

bool is_to(const Access& access, const Uuid& cluster) {
  const std::string name = name_of_cluster(cluster);
  return access.reason.starts_with(access.state == AccessState::moving ? "to " + name : name);
}

Access read_durable_access(Shards& shards, std::uint32_t shard, const base::Deadline& deadline) {
  return with_shard(shards, shard, deadline, [&](const sql::Database& database) {
    Access access = read_access(database);
    make_durable(database, shard);
    return access;
  });
}

Access read_access(const sql::Database& database) {
  const sql::Result row =
      database->query(fmt::format("SELECT access, access_token, access_reason, access_holder, access_since, "
                                  "COALESCE(access_until, ''), COALESCE(access_until < NOW(6), 0), "
                                  "COALESCE(access_since < NOW(6) - INTERVAL {} SECOND, 0) FROM {} WHERE only_row = 1",
                                  seconds_of_a_new_state, database.table("looseleaf_shard")));
  if (row.empty()) {
    throw NotInitialised();
  }
  return {.state = parse_access_state(row.text(0, 0)),
          .token = row.unsigned_integer(0, 1),
          .reason = row.text(0, 2),
          .holder = row.text(0, 3),
          .since = row.text(0, 4),
          .until = row.text(0, 5),
          .overdue = row.unsigned_integer(0, 6) != 0,
          .lasts = row.unsigned_integer(0, 7) != 0};
}

// An earlier attempt may have changed the state, but its commit may not be on disk yet. So something is written, and
// the commit waits for the disk.
bool change_access(Shards& shards, std::uint32_t shard, const Access& from, const Access& to,
                   const base::Deadline& deadline, const std::function<void()>& before_commit) {
  bool changed = false;
  with_fence_exclusive(shards, shard, deadline, [&](const sql::Database& database, const Fence& fence) {
    const auto is = [&](const Access& access) {
      return fence.access == access.state && fence.access_token == access.token;
    };
    const auto was_open_since = [&](const std::string& since) {
      return since.empty() || read_access(database).since == since;
    };
    const bool stays = fence.access == AccessState::moved && to.state != AccessState::moved;
    const bool still = is(from) && (from.state != AccessState::open || was_open_since(from.since));
    changed = !stays && (still || is(to));
    if (is(to)) {
      write_something(database);
    } else if (changed) {
      database->execute(
          fmt::format("UPDATE {} SET access = '{}', access_token = {}, access_reason = {}, access_holder = {}, "
                      "access_since = NOW(6), access_until = {} WHERE only_row = 1",
                      database.table("looseleaf_shard"), to_string(to.state), to.token, sql::text_literal(to.reason),
                      sql::text_literal(to.holder),
                      to.limit.count() == 0 ? "NULL" : fmt::format("NOW(6) + INTERVAL {} SECOND", to.limit.count())));
      if (before_commit) {
        before_commit();
      }
    }
  });
  return changed;
}

// Shard 0 decides: a move that has lost it can never be completed. So it must have lost it for good: what another
// process has done to shard 0 may not be on disk yet.
bool undo_move(Shards& shards, std::uint32_t shard, std::uint64_t token, const base::Deadline& deadline) {
  const auto open = [&](std::uint32_t which) {
    const Step step(steps::move_undo, which);
    return change_access(shards, which, {.state = AccessState::moving, .token = token}, Access(), deadline);
  };
  if (!open(0)) {
    if (read_durable_access(shards, 0, deadline).state == AccessState::moved) {
      return false;
    }
  }
  if (shard != 0) {
    static_cast<void>(open(shard));
  }
  return true;
}

bool undo_moves(Shards& shards, const Uuid& cluster, const base::Deadline& deadline) {
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    const Access access = read_durable_access(shards, shard, deadline);
    if (shard == 0 && access.state == AccessState::moved) {
      return false;
    }
    if (access.state != AccessState::moving) {
      continue;
    }
    if (!is_to(access, cluster) && !access.overdue) {
      throw Error(ErrorCode::busy, "the store is about to move to another cluster", facts(access),
                  "wait until that has ended; if its process has died, run `looseleaf thaw`");
    }
    if (!undo_move(shards, shard, access.token, deadline)) {
      return false;
    }
  }
  return true;
}

void undo_if_overdue(Shards& shards, const AboutToMove& move, const base::Deadline& deadline) {
  const Access& access = move.access();
  if (access.overdue && !undo_move(shards, move.shard(), access.token, deadline)) {
    throw has_moved(read_shard(shards, 0, deadline, read_access));
  }
  if (!access.overdue && access.lasts) {
    shards.warnings().give({move.what(), facts(access), hint_for_writers(access)});
  }
}

void require_write_access(const Shards& shards, std::uint32_t shard, const sql::Database& database,
                          const Fence& fence) {
  if (!may_write(shards, fence.access, fence.access_token)) {
    refuse_write(shards, shard, read_access(database));
  }
}

void require_write_access(Shards& shards, std::span<const std::uint32_t> some, const base::Deadline& deadline) {
  for_shards(shards, some, [&](std::uint32_t shard) {
    sql::with_retries(deadline, [&] {
      const Access access = read_shard(shards, shard, deadline, read_access);
      if (may_write(shards, access.state, access.token)) {
        return;
      }
      try {
        on_shard(shards, shard, [&] { refuse_write(shards, shard, access); });
      } catch (const AboutToMove& move) {
        undo_if_overdue(shards, move, deadline);
        throw;
      }
    });
  });
}

void require_not_moved(Shards& shards) {
  const Access access = read_shard(shards, 0, shards.deadline(), read_access);
  if (access.state == AccessState::moved) {
    throw has_moved(access);
  }
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

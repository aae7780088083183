// The row of job `copy` without a table names the original, and whether the copy has begun: "ORIGIN not begun" means
// that nothing was written there yet. A row for each shard of the original has the position.
#include "copy/target.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "shard/fence.hpp"
#include "shard/steps.hpp"
#include "sql/literals.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::copy {
namespace {

using shard::Access;
using shard::Step;
namespace steps = shard::steps;

constexpr const char* not_begun = "not begun";
constexpr const char* begun = "begun";

std::string detail_of(const Uuid& origin, const char* state) {
  return fmt::format("{} {}", to_string(origin), state);
}

Access frozen(std::uint64_t token, const Uuid& origin) {
  return {AccessState::frozen, token, shard::reason_of_copy(origin), job::this_process(), {}};
}

// Returns true for the states that a copy of this cluster gives a shard.
bool is_of_copy(const Access& access, const Uuid& origin) {
  return (access.state == AccessState::frozen || access.state == AccessState::opening) &&
         access.reason == shard::reason_of_copy(origin);
}

Error not_empty(const std::string& what) {
  return {ErrorCode::usage,
          "the other cluster is not empty",
          {{"found", what}},
          "copy to a cluster that `init` has just made; nothing was copied"};
}

// Returns the row of one shard of the original.
job::JobRow position_row(const Uuid& origin, std::uint32_t shard, std::uint64_t token) {
  job::JobRow row;
  row.job = copy_job;
  row.table = std::to_string(shard);
  row.token = token;
  row.detail = detail_of(origin, not_begun);
  row.holder = job::this_process();
  return row;
}

// The position is stored like one of a cluster with one shard.
std::string to_detail(const Uuid& origin, const feed::ShardPosition& position) {
  return feed::to_text({origin, {position}});
}

std::optional<feed::ShardPosition> to_position(const job::JobRow& row, const Uuid& origin) {
  return row.barrier ? feed::parse_position(row.detail, origin, 1).shards.front() : std::nullopt;
}

}  // namespace

Target::Target(shard::Shards& other, const Uuid& origin, std::uint32_t count, Purpose purpose)
    : other_(other), origin_(origin), count_(count), lock_(other, copy_job, {""}) {
  if (const auto found = origin_of(other_); found && *found != to_string(origin_)) {
    throw Error(ErrorCode::usage, "the other cluster is a copy of another store",
                {{"original", *found}, {"this store", to_string(origin_)}},
                "check --cluster and --to, or copy to an empty cluster");
  }
  if (other_.cluster_id() == origin_) {
    throw Error(ErrorCode::usage, "this cluster cannot be copied to itself", {{"cluster", to_string(origin_)}},
                "check --cluster and --to");
  }
  keeper_ = std::jthread([this](const std::stop_token& stop) { keep_lock(stop); });
  begin(purpose);
  if (fresh_ && !is_empty()) {
    require_own_row();  // the entities may be those of another copier
    open();
    throw not_empty("entities");
  }
  take_over();
  other_.use_access_token(lock_.token());
}

Target::~Target() {
  other_.use_access_token(0);
}

// If another copier has the lock, it has new tokens, too, which end this one.
void Target::keep_lock(const std::stop_token& stop) {
  constexpr auto nap = std::chrono::milliseconds(50);
  while (!stop.stop_requested()) {
    try {
      lock_.keep_alive();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::busy) {
        return;
      }
    }
    std::this_thread::sleep_for(nap);
  }
}

// Writes the row before anything is frozen, so that whatever is frozen has a row that says why. The shards are looked
// at before the row. So if another copier takes the copy over meanwhile, or even ends it, the row or a shard has
// changed.
void Target::begin(Purpose purpose) {
  for (std::uint32_t shard = 0; shard < other_.count(); ++shard) {
    seen_.push_back(shard::read_shard(other_, shard, other_.deadline(), shard::read_access));
  }
  const auto row = shard::read_shard(other_, 0, other_.deadline(), [](const sql::Database& database) {
    return job::read_job(database, copy_job, "");
  });
  if (purpose == Purpose::copy) {
    fresh_ = !row || row->detail == detail_of(origin_, not_begun);
    require_usable(row.has_value());
  }
  if (row || fresh_) {
    claim_row(row);
  }
  try {
    claim_shards(purpose);
  } catch (const Error&) {
    try {
      give_row_back(row);
    } catch (const Error&) {  // the next run takes the row as it is
    }
    throw;
  }
}

// Refuses what can be refused before anything is changed. A shard that is open after the copy has begun may have other
// writes, and so may one that its owner has frozen.
void Target::require_usable(bool has_row) {
  for (std::uint32_t shard = 0; shard < other_.count(); ++shard) {
    const Access& access = seen_[shard];
    const bool is_free = fresh_ && access.state == AccessState::open;
    if (is_free || (has_row && is_of_copy(access, origin_))) {
      continue;
    }
    Error::Context context = other_.where(shard);
    context.insert(context.begin(), {{"state", to_string(access.state)}, {"reason", access.reason}});
    if (!has_row) {
      throw Error(ErrorCode::usage, "the other cluster does not take writes", context,
                  "copy to a cluster that is open and empty");
    }
    throw Error(ErrorCode::usage, "the copy was opened before it was complete", context,
                "others may have written to it; copy to an empty cluster instead, and open this one as it is: run the "
                "command with --detach --force");
  }
  if (fresh_ && !is_empty()) {
    throw not_empty("entities");
  }
}

// Throws if another copier has changed the row since it was read.
void Target::claim_row(const std::optional<job::JobRow>& seen) {
  shard::with_shard(other_, 0, other_.deadline(), [&](const sql::Database& database) {
    sql::Transaction transaction(database);
    static_cast<void>(job::lock_job(database, copy_job, ""));
    const auto now = job::read_job(database, copy_job, "");
    const bool is_ours = now && now->token == lock_.token();  // after an attempt whose commit was in doubt
    const bool is_same =
        now && seen ? now->token == seen->token && now->detail == seen->detail : now.has_value() == seen.has_value();
    if (!is_ours && !is_same) {
      throw taken_over();
    }
    job::JobRow ours = seen.value_or(job::JobRow());
    ours.job = copy_job;
    ours.token = lock_.token();
    ours.holder = job::this_process();
    if (!seen) {
      ours.detail = detail_of(origin_, not_begun);
    }
    job::write_job(database, ours);
    transaction.commit();
  });
}

// The row is what it was before. If another copier was faster, and has opened the cluster meanwhile, it could not
// remove the row.
void Target::give_row_back(const std::optional<job::JobRow>& seen) {
  const std::uint64_t former = seen ? seen->token : lock_.token();
  const auto on_rows = [&](const std::string& sql) {
    shard::with_shard(other_, 0, other_.deadline(), [&](const sql::Database& database) {
      database->execute(fmt::format(fmt::runtime(sql), database.table("looseleaf_progress")));
    });
  };
  on_rows(fmt::format("UPDATE {{}} SET token = {} WHERE job = '{}' AND table_name = '' AND token = {}", former,
                      copy_job, lock_.token()));
  for (std::uint32_t shard = 0; shard < other_.count(); ++shard) {
    if (shard::read_shard(other_, shard, other_.deadline(), shard::read_access).state != AccessState::open) {
      return;
    }
  }
  on_rows(fmt::format("DELETE FROM {{}} WHERE job = '{}' AND token = {}", copy_job, former));
}

void Target::claim_shards(Purpose purpose) {
  for (std::uint32_t shard = 0; shard < other_.count(); ++shard) {
    claim_shard(shard, purpose);
  }
}

void Target::claim_shard(std::uint32_t shard, Purpose purpose) {
  const Step step(steps::copy_claim, shard);
  const Access& access = seen_[shard];
  Access ours = frozen(lock_.token(), origin_);
  const bool is_ours = is_of_copy(access, origin_);
  if (purpose == Purpose::open && !is_ours) {
    return;
  }
  if (is_ours && access.state == AccessState::opening) {
    ours.state = access.state;
    announced_ = true;
  }
  if (!shard::change_access(other_, shard, access, ours, other_.deadline())) {
    throw taken_over();
  }
}

void Target::change(std::uint32_t shard, AccessState from, const Access& to) {
  if (!shard::change_access(other_, shard, {.state = from, .token = lock_.token()}, to, other_.deadline())) {
    throw taken_over();
  }
}

void Target::require_own_row() {
  const auto row = shard::read_shard(other_, 0, other_.deadline(), [](const sql::Database& database) {
    return job::read_job(database, copy_job, "");
  });
  if (!row || row->token != lock_.token()) {
    throw taken_over();
  }
}

bool Target::is_empty() {
  for (std::uint32_t shard = 0; shard < other_.count(); ++shard) {
    if (shard::read_shard(other_, shard, other_.deadline(), shard::has_entities)) {
      return false;
    }
  }
  return true;
}

// Now every shard has this token, so no other process can write, and what it stored before is what it had written.
void Target::take_over() {
  shard::with_shard(other_, 0, other_.deadline(), [&](const sql::Database& database) {
    sql::Transaction transaction(database);
    if (job::lock_job(database, copy_job, "") != lock_.token()) {
      throw taken_over();
    }
    database->execute(fmt::format(
        "UPDATE {} SET token = {}, holder = {}, since = NOW(6), heartbeat = NOW(6) "
        "WHERE job = '{}'",
        database.table("looseleaf_progress"), lock_.token(), sql::text_literal(job::this_process()), copy_job));
    positions_.clear();
    for (std::uint32_t shard = 0; shard < count_; ++shard) {
      const auto row = job::read_job(database, copy_job, std::to_string(shard));
      if (!row) {
        job::write_job(database, position_row(origin_, shard, lock_.token()));
      } else if (const auto position = to_position(*row, origin_)) {
        positions_.emplace(shard, *position);
      }
    }
    transaction.commit();
  });
}

void Target::begin_writing() {
  shard::with_shard(other_, 0, other_.deadline(), [&](const sql::Database& database) {
    sql::Transaction transaction(database);
    job::JobRow row;
    row.job = copy_job;
    row.token = lock_.token();
    row.detail = detail_of(origin_, begun);
    if (!job::advance_job(database, row)) {
      throw taken_over();
    }
    transaction.commit();
  });
}

void Target::store(const Positions& positions) {
  shard::with_shard(other_, 0, other_.deadline(), [&](const sql::Database& database) {
    sql::Transaction transaction(database);
    for (const auto& [shard, position] : positions) {
      const Step step(steps::copy_store, shard);
      job::JobRow row = position_row(origin_, shard, lock_.token());
      row.barrier = position.place.updated;
      row.detail = to_detail(origin_, position);
      if (!job::advance_job(database, row)) {
        throw taken_over();
      }
    }
    database->execute(
        fmt::format("UPDATE {} SET heartbeat = NOW(6) WHERE job = '{}' AND table_name = '' AND token = {}",
                    database.table("looseleaf_progress"), copy_job, lock_.token()));
    transaction.commit();
  });
  for (const auto& [shard, position] : positions) {
    positions_.insert_or_assign(shard, position);
  }
}

void Target::announce(base::Stamp floor) {
  Access opening = frozen(lock_.token(), origin_);
  opening.state = AccessState::opening;
  shard::for_each_shard(other_, [&](std::uint32_t shard) {
    const Step step(steps::move_prepare, shard);
    change(shard, AccessState::frozen, opening);
    shard::raise_clock_floor(other_, shard, floor, other_.deadline());
  });
}

void Target::refuse() {
  shard::for_each_shard(other_, [&](std::uint32_t shard) {
    if (shard::read_shard(other_, shard, other_.deadline(), shard::read_access).state == AccessState::opening) {
      remove_triggers(shard);
      change(shard, AccessState::opening, frozen(lock_.token(), origin_));
    }
  });
}

// The triggers that a move has begun there, in this run or in any before.
void Target::remove_triggers(std::uint32_t shard) {
  shard::with_fence_shared(other_, shard, other_.deadline(),
                           [&](const sql::Database& database, const shard::Fence& fence) {
                             shard::require_write_access(other_, shard, database, fence);
                             job::remove_jobs(database, job::trigger_job, trigger_generation(origin_));
                           });
}

// The rows last: as long as a shard is frozen, they say why.
void Target::open() {
  shard::for_each_shard(other_, [&](std::uint32_t shard) {
    const Step step(steps::move_open, shard);
    const Access access = shard::read_shard(other_, shard, other_.deadline(), shard::read_access);
    if (is_of_copy(access, origin_)) {
      change(shard, access.state, Access());
    } else if (access.state == AccessState::open) {  // by another process, perhaps not on disk yet
      static_cast<void>(shard::change_access(other_, shard, access, Access(), other_.deadline()));
    }
  });
  remove_rows();
}

void Target::remove_rows() {
  shard::with_shard(other_, 0, other_.deadline(), [&](const sql::Database& database) {
    database->execute(fmt::format("DELETE FROM {} WHERE job = '{}' AND token = {}",
                                  database.table("looseleaf_progress"), copy_job, lock_.token()));
  });
}

std::optional<Positions> read_positions(shard::Shards& shards, const Uuid& origin, std::uint32_t count) {
  if (origin_of(shards) != to_string(origin)) {
    return std::nullopt;
  }
  return shard::read_shard(shards, 0, shards.deadline(), [&](const sql::Database& database) {
    Positions positions;
    for (const job::JobRow& row : job::read_jobs(database)) {
      for (std::uint32_t shard = 0; row.job == copy_job && shard < count; ++shard) {
        if (const auto position = row.table == std::to_string(shard) ? to_position(row, origin) : std::nullopt) {
          positions.emplace(shard, *position);
        }
      }
    }
    return std::optional(positions);
  });
}

Error taken_over() {
  return {
      ErrorCode::busy, "another process has taken over the copy", {}, "let that one go on, or run the command again"};
}

std::uint64_t trigger_generation(const Uuid& origin) {
  std::uint64_t generation = 0;
  for (std::size_t i = origin.bytes.size() / 2; i < origin.bytes.size(); ++i) {  // the random half
    generation = generation << 8U | origin.bytes[i];
  }
  return generation;
}

std::optional<std::string> origin_of(shard::Shards& shards) {
  const auto row = shard::read_shard(shards, 0, shards.deadline(), [](const sql::Database& database) {
    return job::read_job(database, copy_job, "");
  });
  return row ? std::optional(row->detail.substr(0, row->detail.find(' '))) : std::nullopt;
}

}  // namespace looseleaf::copy

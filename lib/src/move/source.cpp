// open -> moving -> moved. Nobody else changes `moving` but to undo it, from shard 0 on, and nobody changes `moved`.
#include "move/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "base/random.hpp"
#include "base/text.hpp"
#include "job/jobs.hpp"
#include "shard/move_announcement.hpp"
#include "shard/steps.hpp"

namespace looseleaf::move {
namespace {

using shard::Access;
using shard::Step;
namespace steps = shard::steps;

constexpr auto time_to_freeze = std::chrono::seconds(2);  // or more, if writers may wait longer

}  // namespace

std::vector<std::uint32_t> all_but_first(const shard::Shards& shards) {
  std::vector<std::uint32_t> others(shards.count() - 1);
  std::iota(others.begin(), others.end(), 1);
  return others;
}

Error changed_meanwhile(const shard::Shards& shards, std::uint32_t shard) {
  return {ErrorCode::busy, "another process has changed the state of the store", shards.where(shard),
          "run `looseleaf status` to see the state"};
}

Source::Source(shard::Shards& original, shard::Shards& other)
    : shards_(original),
      other_(other.cluster_id()),
      file_(other.cluster().file.empty() ? "" : std::filesystem::absolute(other.cluster().file).lexically_normal()),
      token_(base::random_u64()) {}

bool Source::has_moved_there() {
  const Access first = shard::read_shard(shards_, 0, shards_.deadline(), shard::read_access);
  if (first.state != AccessState::moved) {
    return false;
  }
  if (!shard::is_to(first, other_)) {
    throw shard::has_moved(first);
  }
  token_ = first.token;
  return true;
}

std::vector<Access> Source::states() {
  std::vector<Access> all(shards_.count());
  shard::for_each_shard(shards_, [&](std::uint32_t shard) {
    all[shard] = shard::read_shard(shards_, shard, shards_.deadline(), shard::read_access);
  });
  return all;
}

void Source::require_not_frozen() {
  const std::vector<Access> all = states();
  for (std::uint32_t shard = 0; shard < all.size(); ++shard) {
    if (all[shard].state != AccessState::open && all[shard].state != AccessState::moving) {
      Error::Context context = shards_.where(shard);
      context.emplace_back("state", to_string(all[shard].state));
      for (auto& fact : shard::facts(all[shard])) {
        context.push_back(std::move(fact));
      }
      throw Error(ErrorCode::frozen, "a store that is not open cannot be moved", std::move(context),
                  "run `looseleaf thaw` first, or copy it without --finish");
    }
  }
}

// A statement that finds no row needs the same privileges.
void Source::require_may_freeze() {
  shard::for_each_shard(shards_, [&](std::uint32_t shard) {
    shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
      database->execute(
          fmt::format("UPDATE {} SET access = access, access_token = access_token, access_reason = "
                      "access_reason, access_holder = access_holder, access_since = access_since, "
                      "access_until = access_until WHERE only_row = 0",
                      database.table("looseleaf_shard")));
      shard::require_may_announce(database);
    });
  });
}

Access Source::access(AccessState state, std::chrono::seconds limit) const {
  const std::string name = shard::name_of_cluster(other_);
  constexpr std::size_t longest = 900;  // bytes; the column has room for a little more
  const bool fits = !file_.empty() && file_.size() <= longest && base::is_utf8(file_);
  const std::string where = fits ? fmt::format("{} ({})", name, file_) : name;
  return {.state = state,
          .token = token_,
          .reason = state == AccessState::moving ? "to " + where : where,
          .holder = job::this_process(),
          .limit = limit};
}

// From shard 0 on, because that one decides: a shard that waits although shard 0 does not is opened by whoever meets
// it.
void Source::freeze(std::chrono::seconds limit) {
  const std::chrono::seconds time = std::max(time_to_freeze, limit / 3);
  const base::Deadline deadline(time);
  const auto freeze_one = [&](std::uint32_t shard) {
    const Step step(steps::move_freeze, shard);
    if (step.left_out()) {
      return;
    }
    while (!shard::change_access(shards_, shard, Access(), access(AccessState::moving, limit), deadline)) {
      const Access found = shard::read_shard(shards_, shard, deadline, shard::read_access);
      const bool is_late = shard != 0 && found.state == AccessState::moving;  // a former process has frozen it just now
      if (!is_late || !shard::undo_move(shards_, shard, found.token, deadline)) {
        throw changed_meanwhile(shards_, shard);
      }
    }
  };
  try {
    freeze_one(0);
    shard::for_shards(shards_, all_but_first(shards_), freeze_one);
  } catch (Error& error) {
    if (error.code() == ErrorCode::unavailable) {
      error.with_hint(fmt::format(
          "run the command again, perhaps with a longer --freeze-limit; the writers of all shards ({}) must be "
          "stopped within {} s, and a server was slow, or a transaction long",
          shards_.count(), time.count()));
    }
    throw;
  }
}

bool Source::is_frozen() {
  const std::vector<Access> all = states();
  return std::all_of(all.begin(), all.end(), [&](const Access& access) { return access.token == token_; });
}

bool Source::decide() {
  const Step step(steps::move_decide, 0);
  may_be_decided_ = true;
  return shard::change_access(shards_, 0, own(AccessState::moving), access(AccessState::moved, {}), shards_.deadline());
}

Access Source::own(AccessState state) const {
  return {.state = state, .token = token_};
}

// A shard that was restored from a backup has forgotten that it was about to move. Shard 0 has decided for all.
void Source::mark() {
  const Access moved = access(AccessState::moved, {});
  shard::for_shards(shards_, all_but_first(shards_), [&](std::uint32_t shard) {
    const Step step(steps::move_mark, shard);
    if (step.left_out()) {
      return;
    }
    Access from = own(AccessState::moving);
    while (!shard::change_access(shards_, shard, from, moved, shards_.deadline())) {
      from = shard::read_shard(shards_, shard, shards_.deadline(), shard::read_access);
      Error::Context context = shards_.where(shard);
      context.emplace_back("state", to_string(from.state));
      shards_.warnings().give({"a shard took writes again after the store had moved", std::move(context),
                               "what was written to it since is not in the other cluster"});
    }
  });
  // Before anybody writes to the other cluster: a server may have forgotten it, or somebody may have taken it back.
  shard::announce_move(shards_, [] { return false; });
}

// Before the decision, any order will do: this process decides nothing any more. So the shards on which writers wait
// come first. Then every shard waits for the commit of an attempt to freeze it, which may still be under way. One that
// does not answer is left to its writers.
bool Source::undo(std::vector<std::uint32_t>& left) {
  if (may_be_decided_ && !undo_decision()) {
    return false;
  }
  std::mutex mutex;
  for (const bool waits : {false, true}) {
    left.clear();
    const base::Deadline deadline = waits ? base::Deadline(time_to_freeze) : shards_.deadline();
    shard::for_each_shard(shards_, [&](std::uint32_t shard) {
      const Step step(steps::move_undo, shard);
      try {
        if (waits || shard::read_shard(shards_, shard, deadline, shard::read_access).token == token_) {
          static_cast<void>(shard::change_access(shards_, shard, own(AccessState::moving), Access(), deadline));
        }
      } catch (const Error&) {
        if (may_be_ours(shard)) {
          const std::lock_guard lock(mutex);
          left.push_back(shard);
        }
      }
    });
  }
  return true;
}

bool Source::may_be_ours(std::uint32_t shard) {
  try {
    return shard::read_shard(shards_, shard, shards_.deadline(), shard::read_access).token == token_;
  } catch (const Error&) {
    return true;
  }
}

// Waits for the commit of the decision, if it is still under way.
bool Source::undo_decision() {
  try {
    if (shard::change_access(shards_, 0, own(AccessState::moving), Access(), shards_.deadline())) {
      return true;
    }
    const Access first = shard::read_durable_access(shards_, 0, shards_.deadline());
    if (first.state == AccessState::moved && first.token != token_) {
      throw shard::has_moved(first);
    }
    return first.state != AccessState::moved;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::moved) {
      throw;
    }
    Error unknown(ErrorCode::outcome_unknown, "it is not known whether the store has moved", error.context(),
                  "run the command again when every server answers: it completes the move, or begins again");
    throw unknown.with("cause", error.what());
  }
}

}  // namespace looseleaf::move

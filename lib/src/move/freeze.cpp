// Changes the state of each shard under its fence, shard 0 first, or last. No writer that comes later misses the new
// state.
#include "move/freeze.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/text.hpp"
#include "job/jobs.hpp"
#include "move/source.hpp"
#include "shard/access.hpp"
#include "shard/steps.hpp"

namespace looseleaf::move {
namespace {

using shard::Access;
using shard::Step;
namespace steps = shard::steps;

constexpr std::size_t most_characters = 1000;  // of a reason; see the column access_reason
const Access open;                             // the token 0 is no process's

using Numbers = std::vector<std::uint32_t>;

std::string list_of(const Numbers& shards) {
  return fmt::format("{}", fmt::join(shards, ", "));
}

void require_reason(const std::string& reason) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (reason.empty() || !base::is_utf8(reason) || std::any_of(reason.begin(), reason.end(), is_control) ||
      base::utf8_length(reason) > most_characters) {
    throw Error(ErrorCode::usage, "not usable as a reason", {{"reason", base::is_utf8(reason) ? reason : ""}},
                fmt::format("give one line of text, at most {} characters", most_characters));
  }
}

Access access_of(shard::Shards& shards, std::uint32_t shard, const base::Deadline& deadline) {
  return shard::read_shard(shards, shard, deadline, shard::read_access);
}

Error with_cause(const std::string& what, const Error& cause) {
  Error error(cause.code(), what, cause.context(), cause.hint());
  return error.with("cause", cause.what());
}

// Returns false if another process has changed the state meanwhile.
bool change(shard::Shards& shards, std::uint32_t shard, const Access& from, const Access& to,
            const base::Deadline& deadline, const std::function<void()>& before_commit = nullptr) {
  const Step step(steps::freeze_change, shard);
  return shard::change_access(shards, shard, from, to, deadline, before_commit);
}

// For a state in which neither freeze nor thaw may change anything.
Error about_to_move(const Access& access) {
  if (access.state == AccessState::moved) {
    return shard::has_moved(access);
  }
  if (access.state == AccessState::opening) {
    return {ErrorCode::busy, "another store is about to move here", shard::facts(access),
            "wait; if the process that moves it has died, run its command again, or, if the other store is gone, "
            "`looseleaf thaw --force`"};
  }
  return {ErrorCode::busy, "the store is about to move", shard::facts(access),
          "wait; if the process that moves it has died, run its command again, or `looseleaf thaw`"};
}

// `not_open` are the shards that are not open, in order, and `access` is the first one's.
Error refuse_to_freeze(const shard::Shards& shards, const Access& access, const Numbers& not_open) {
  if (access.state == AccessState::open) {
    return changed_meanwhile(shards, not_open.front());
  }
  if (access.state != AccessState::frozen) {
    return about_to_move(access);
  }
  const std::string hint = shard::hint_for_copy(shards, access).value_or("run `looseleaf thaw` first");
  Error error(ErrorCode::frozen, "the store is frozen already", shard::facts(access), hint);
  if (not_open.size() < shards.count()) {
    error = Error(ErrorCode::frozen, "a part of the store is frozen already", shard::facts(access),
                  "run `looseleaf thaw` first; an earlier freeze or thaw did not complete");
    error.with("shards", list_of(not_open));
  }
  return error;
}

void require_open(shard::Shards& shards) {
  const base::Deadline deadline = shards.deadline();
  std::vector<Access> all(shards.count());
  shard::for_each_shard(shards, [&](std::uint32_t shard) { all[shard] = access_of(shards, shard, deadline); });
  Numbers not_open;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    if (all[shard].state != AccessState::open) {
      not_open.push_back(shard);
    }
  }
  if (!not_open.empty()) {
    throw refuse_to_freeze(shards, all[not_open.front()], not_open);
  }
}

// Opens the shards again that this process has frozen, or may have, shard 0 last. Returns the error to throw.
Error undo(shard::Shards& shards, const std::set<std::uint32_t>& tried, std::uint64_t token, const Error& cause) {
  Numbers opened, unknown;
  for (const std::uint32_t shard : tried | std::views::reverse) {
    try {
      if (change(shards, shard, {.state = AccessState::frozen, .token = token}, open, shards.deadline())) {
        opened.insert(opened.begin(), shard);
      }
    } catch (const Error&) {
      unknown.insert(unknown.begin(), shard);
    }
  }
  if (opened.empty() && unknown.empty()) {
    return cause;
  }
  Error error = with_cause("could not freeze every shard", cause);
  if (!opened.empty()) {
    error.with("opened again", list_of(opened));
  }
  if (!unknown.empty()) {
    error.with("may be frozen", list_of(unknown));
    error.with_hint("run `looseleaf thaw` when every server answers: it opens the shards that are still frozen");
  }
  return error;
}

// What thaw finds: the states, and the shards that cannot be asked or changed.
class Thaw {
 public:
  explicit Thaw(shard::Shards& shards) : shards_(shards), states_(shards.count()) {}

  std::uint32_t run(bool force) {
    read_states();
    for (const auto& access : states_) {
      if (access && (access->state == AccessState::moved || (access->state == AccessState::opening && !force))) {
        throw about_to_move(*access);
      }
    }
    if (!force && std::any_of(states_.begin(), states_.end(), is_frozen)) {
      require_no_copy();
    }
    for (std::uint32_t shard = shards_.count(); shard-- > 0;) {
      if (is_frozen(states_[shard]) || (states_[shard] && states_[shard]->state == AccessState::opening)) {
        open_shard(shard, [&] { return change(shards_, shard, *states_[shard], open, shards_.deadline()); });
      } else if (states_[shard] && states_[shard]->state == AccessState::moving) {
        open_shard(shard, [&] { return shard::undo_move(shards_, shard, states_[shard]->token, shards_.deadline()); });
      }
    }
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {  // a freeze may have run at the same time
      try {
        if (!failed_.contains(shard) && access_of(shards_, shard, shards_.deadline()).state != AccessState::open) {
          throw changed_meanwhile(shards_, shard);
        }
      } catch (const Error& error) {
        failed_.emplace(shard, error);
      }
    }
    if (!failed_.empty()) {
      throw incomplete();
    }
    return static_cast<std::uint32_t>(opened_.size());
  }

 private:
  static bool is_frozen(const std::optional<Access>& access) { return access && access->state == AccessState::frozen; }

  void read_states() {
    const base::Deadline deadline = shards_.deadline();
    std::mutex mutex;  // guards failed_
    shard::for_each_shard(shards_, [&](std::uint32_t shard) {
      try {
        states_[shard] = access_of(shards_, shard, deadline);
      } catch (const Error& error) {
        const std::lock_guard lock(mutex);
        failed_.emplace(shard, error);
      }
    });
  }

  // The row of a copy stays when `thaw --force` opens it, so the shards tell.
  void require_no_copy() {
    for (const auto& access : states_) {
      if (const auto hint = access ? shard::hint_for_copy(shards_, *access) : std::nullopt) {
        throw Error(ErrorCode::busy, "the store is frozen because it is a copy in progress", shard::facts(*access),
                    *hint + ", or give `--force`; then the copy refuses to continue");
      }
    }
  }

  // `open_it` returns false if another process has changed the state meanwhile.
  void open_shard(std::uint32_t shard, const std::function<bool()>& open_it) {
    try {
      if (open_it()) {
        opened_.insert(opened_.begin(), shard);
      } else {
        throw changed_meanwhile(shards_, shard);
      }
    } catch (const Error& error) {
      failed_.emplace(shard, error);
    }
  }

  [[nodiscard]] Error incomplete() const {
    Numbers shards;
    for (const auto& [shard, error] : failed_) {
      shards.push_back(shard);
    }
    Error error = with_cause("could not open every shard", failed_.begin()->second);
    error.with("opened", opened_.empty() ? "none" : list_of(opened_)).with("not opened", list_of(shards));
    if (error.code() == ErrorCode::unavailable) {
      error.with_hint("run the command again when every server answers");
    }
    return error;
  }

  shard::Shards& shards_;
  std::vector<std::optional<Access>> states_;
  std::map<std::uint32_t, Error> failed_;
  Numbers opened_;
};

}  // namespace

void freeze(shard::Shards& shards, const std::string& reason) {
  require_reason(reason);
  shards.check_identities();
  require_open(shards);
  const Access frozen{AccessState::frozen, base::random_u64(), reason, job::this_process(), {}};
  const base::Deadline deadline = shards.deadline();
  std::mutex mutex;
  std::set<std::uint32_t> tried;  // guarded by the mutex
  const auto freeze_one = [&](std::uint32_t shard) {
    const auto note = [&] {
      const std::lock_guard lock(mutex);
      tried.insert(shard);
    };
    if (!change(shards, shard, open, frozen, deadline, note)) {
      throw refuse_to_freeze(shards, access_of(shards, shard, deadline), {shard});
    }
  };
  try {
    freeze_one(0);  // of several processes, the first one there goes on
    shard::for_shards(shards, all_but_first(shards), freeze_one);
    shard::for_each_shard(shards, [&](std::uint32_t shard) {  // a thaw that ran at the same time may have opened some
      if (access_of(shards, shard, deadline).token != frozen.token) {
        throw changed_meanwhile(shards, shard);
      }
    });
  } catch (const Error& error) {
    throw undo(shards, tried, frozen.token, error);
  }
}

std::uint32_t thaw(shard::Shards& shards, bool force) {
  shards.check_identities();
  return Thaw(shards).run(force);
}

}  // namespace looseleaf::move

// What changes a trigger as a whole holds a named lock, so that two processes do not create it at once.
#include "trigger/manage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <looseleaf/error.hpp>
#include <looseleaf/trigger.hpp>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.hpp"
#include "base/random.hpp"
#include "feed/feed.hpp"
#include "job/jobs.hpp"
#include "shard/access.hpp"
#include "shard/fence.hpp"
#include "trigger/leases.hpp"
#include "trigger/trigger_row.hpp"

namespace looseleaf::trigger {
namespace {

job::JobLock lock(shard::Shards& shards, const std::string& name) {
  for (const base::Deadline deadline = shards.deadline();;) {
    try {
      return {shards, trigger_job, {name}};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::busy || deadline.passed()) {
        throw;
      }
    }
  }
}

std::vector<std::uint32_t> shards_without(shard::Shards& shards, const std::string& name) {
  std::vector<char> has_row(shards.count());
  shard::for_each_shard(shards, [&](std::uint32_t shard) {
    has_row[shard] = shard::read_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
      return job::read_job(database, trigger_job, name).has_value();
    });
  });
  std::vector<std::uint32_t> without;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    if (!has_row[shard]) {
      without.push_back(shard);
    }
  }
  return without;
}

// Returns those of these triggers that have a row of another generation on any shard.
std::set<std::string> of_other_generations(shard::Shards& shards, const std::vector<std::string>& names,
                                           std::uint64_t generation) {
  std::mutex mutex;
  std::set<std::string> others;
  shard::for_each_shard(shards, [&](std::uint32_t shard) {
    const auto jobs = shard::with_shard(shards, shard, shards.deadline(), job::read_jobs);
    const std::lock_guard guard(mutex);
    for (const job::JobRow& row : jobs) {
      if (row.job == trigger_job && row.generation != generation &&
          std::find(names.begin(), names.end(), row.table) != names.end()) {
        others.insert(row.table);
      }
    }
  });
  return others;
}

// Throws if the store has moved or is about to: the trigger would not begin there in the new store.
void write_all(shard::Shards& shards, const std::vector<std::uint32_t>& some, const std::string& name,
               const feed::Position& start) {
  const std::uint64_t generation = base::random_u64();
  shard::for_shards(shards, some, [&](std::uint32_t shard) {
    shard::with_fence_shared(
        shards, shard, shards.deadline(), [&](const sql::Database& database, const shard::Fence& fence) {
          if (fence.access == AccessState::moving || fence.access == AccessState::moved) {
            shard::require_write_access(shards, shard, database, fence);
          }
          write_trigger(database, {.name = name, .generation = generation, .position = start.shards[shard]});
        });
  });
}

std::set<std::string> names(shard::Shards& shards) {
  std::mutex mutex;
  std::set<std::string> found;
  shard::for_each_shard(shards, [&](std::uint32_t shard) {
    const auto jobs = shard::read_shard(shards, shard, shards.deadline(), job::read_jobs);
    const std::lock_guard lock(mutex);
    for (const job::JobRow& job : jobs) {
      if (job.job == trigger_job) {
        found.insert(job.table);
      }
    }
  });
  return found;
}

void require_exists(shard::Shards& shards, const std::string& name) {
  check_name(name);
  const std::set<std::string> known = names(shards);
  if (known.contains(name)) {
    return;
  }
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const auto nearest = base::nearest(name, candidates);
  throw Error(ErrorCode::usage, "there is no such trigger", {{"trigger", name}},
              nearest         ? fmt::format("did you mean `{}`?", *nearest)
              : known.empty() ? "there is no trigger at all; `looseleaf trigger run` creates one"
                              : "`looseleaf trigger list` shows all triggers");
}

// Returns the processes that run the trigger, of each server.
std::map<std::uint32_t, Processes> processes_by_server(shard::Shards& shards, const std::string& name) {
  std::mutex mutex;
  std::map<std::uint32_t, Processes> found;  // by first shard
  std::vector<std::uint32_t> firsts;
  for (const auto& here : shard::shards_by_server(shards)) {
    firsts.push_back(here.front());
  }
  shard::for_shards(shards, firsts, [&](std::uint32_t first) {
    Processes alive = shard::read_shard(shards, first, shards.deadline(),
                                        [&](const sql::Database& database) { return live_processes(database, name); });
    const std::lock_guard lock(mutex);
    found[first] = std::move(alive);
  });
  return found;
}

void refuse_if_running(shard::Shards& shards, const std::string& name, WhileRunning running) {
  if (running == WhileRunning::change) {
    return;
  }
  std::set<std::string> holders;
  for (const auto& [first, processes] : processes_by_server(shards, name)) {
    for (const auto& [token, holder] : processes) {
      holders.insert(holder);
    }
  }
  if (!holders.empty()) {
    throw Error(ErrorCode::busy, "a process runs this trigger",
                {{"trigger", name}, {"holder", fmt::format("{}", fmt::join(holders, ", "))}},
                "stop it first, or give --force");
  }
}

}  // namespace

void check_name(const std::string& name) {
  constexpr std::size_t longest = 64;
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  if (name.empty() || name.size() > longest || name.find_first_not_of(allowed) != std::string::npos) {
    throw Error(ErrorCode::usage, "invalid name of a trigger", {{"trigger", name}},
                "use 1 to 64 letters, digits, `_`, `.` and `-`");
  }
}

namespace {

// A mistyped name is a new trigger, which delivers everything once more. Names that differ in digits are meant.
void warn_if_mistyped(shard::Shards& shards, const std::string& name, const std::set<std::string>& known) {
  const auto without_digits = [](std::string_view text) {
    std::string rest;
    std::remove_copy_if(text.begin(), text.end(), std::back_inserter(rest),
                        [](char c) { return c >= '0' && c <= '9'; });
    return rest;
  };
  const auto nearest = base::nearest(name, std::vector<std::string_view>(known.begin(), known.end()));
  if (nearest && without_digits(*nearest) != without_digits(name)) {
    shards.warnings().give(
        {"a new trigger was created, whose name is similar to that of another one",
         {{"trigger", name}, {"other", std::string(*nearest)}},
         fmt::format("if you mean `{}`, stop this one, and run `looseleaf trigger drop {}`", *nearest, name)});
  }
}

}  // namespace

void create(shard::Shards& shards, const std::string& name, const std::optional<std::string>& after) {
  const auto warn_if_given = [&] {
    if (after) {
      shards.warnings().give(
          {"the trigger exists and goes on where it was, so --after is not used",
           {{"trigger", name}, {"after", *after}},
           fmt::format("to begin there, stop the trigger and run `looseleaf trigger reset {} --after {}`", name,
                       *after)});
    }
  };
  if (shards_without(shards, name).empty()) {
    warn_if_given();
    return;
  }
  const job::JobLock creating = lock(shards, name);
  const std::vector<std::uint32_t> missing = shards_without(shards, name);
  const bool is_new = missing.size() == shards.count();
  if (is_new) {
    shard::require_not_moved(shards);
  } else {
    warn_if_given();
  }
  if (!is_new && !missing.empty()) {
    shards.warnings().give({"a shard has no row of the trigger, so it begins there with all entities",
                            {{"trigger", name}, {"shards", fmt::format("{}", fmt::join(missing, ", "))}},
                            "this is so after a restore, or if the first run was interrupted"});
  }
  const std::set<std::string> known = is_new ? names(shards) : std::set<std::string>();
  write_all(shards, missing, name, feed::start_position(shards, is_new ? after.value_or("beginning") : "beginning"));
  warn_if_mistyped(shards, name, known);
}

void reset(shard::Shards& shards, const std::string& name, const std::string& after, WhileRunning running) {
  require_exists(shards, name);
  shard::require_not_moved(shards);
  const job::JobLock resetting = lock(shards, name);
  refuse_if_running(shards, name, running);
  write_all(shards, shard::all_shards(shards), name, feed::start_position(shards, after));
}

void drop(shard::Shards& shards, const std::string& name, WhileRunning running) {
  require_exists(shards, name);
  const job::JobLock dropping = lock(shards, name);
  refuse_if_running(shards, name, running);
  shard::for_each_shard(shards, [&](std::uint32_t shard) {
    shard::with_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
      remove_trigger(database, name);
      remove_leases(database, name);
    });
  });
}

// Another process may have opened the store while this one slept. It may not lose a position then.
std::vector<std::string> start_now(shard::Shards& shards, const std::vector<std::string>& names,
                                   std::uint64_t generation) {
  const std::set<std::string> others = of_other_generations(shards, names, generation);
  std::vector<std::string> begun;
  std::copy_if(names.begin(), names.end(), std::back_inserter(begun),
               [&](const std::string& name) { return !others.contains(name); });
  if (begun.empty()) {
    return begun;
  }
  const feed::Position now = feed::start_position(shards, "now");
  shard::for_each_shard(shards, [&](std::uint32_t shard) {
    shard::with_fence_shared(
        shards, shard, shards.deadline(), [&](const sql::Database& database, const shard::Fence& fence) {
          shard::require_write_access(shards, shard, database, fence);
          for (const std::string& name : begun) {
            write_trigger(database, {.name = name, .generation = generation, .position = now.shards[shard]});
          }
        });
  });
  return begun;
}

}  // namespace looseleaf::trigger

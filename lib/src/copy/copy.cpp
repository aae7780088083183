// Indexes first, then all entities, then what has changed. Every failure that passes is answered by another run from
// the stored positions.
#include "copy/copy.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "copy/copier.hpp"
#include "copy/indexes.hpp"
#include "copy/source_marks.hpp"
#include "copy/target.hpp"
#include "job/job.hpp"
#include "shard/access.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/other_store.hpp"
#include "shard/statements.hpp"

namespace looseleaf::copy {
namespace {

constexpr auto between_runs = std::chrono::seconds(1);
constexpr auto nap = std::chrono::milliseconds(20);

void require_not_moved_to(shard::Shards& original, shard::Shards& other) {
  const shard::Access access = shard::read_shard(original, 0, original.deadline(), shard::read_access);
  if (access.state == AccessState::moved && shard::is_to(access, other.cluster_id())) {
    throw Error(ErrorCode::moved, "the store has moved to this cluster", shard::facts(access),
                fmt::format("run {}: it completes the move",
                            shard::copy_command(original.cluster().file, other.cluster().file, "--finish")));
  }
}

// A former process has let writers of the other cluster wait. They must not be refused, or be let in, if the store has
// moved there after all.
void give_up_move(shard::Shards& original, shard::Shards& other) {
  if (!shard::undo_moves(original, other.cluster_id(), original.deadline())) {
    require_not_moved_to(original, other);
  }
}

// Of shards of which all entities were read, only changes are left, and nobody knows how many.
void expect(shard::Shards& shards, job::Job& job, const Positions& positions) {
  shard::for_each_shard(shards, [&](std::uint32_t shard) {
    if (const auto found = positions.find(shard); found != positions.end() && !found->second.scan) {
      return;
    }
    const std::uint64_t rows = shard::read_shard(shards, shard, shards.deadline(), [](const sql::Database& database) {
      return shard::estimate_rows(database, "entities");
    });
    job.progress().expect(shard, rows, 0);
  });
}

void sleep(const job::Job& job) {
  for (const auto until = std::chrono::steady_clock::now() + between_runs;
       std::chrono::steady_clock::now() < until && !job.stopping();) {
    std::this_thread::sleep_for(nap);
  }
}

void run_once(Copier&& copier, feed::Extent extent, const shard::Shards& original, Target& target) {
  try {
    copier.run(extent);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_position) {
      throw;
    }
    throw Error(
        error.code(), error.what(), error.context(),
        fmt::format("this copy cannot go on, and deletes are kept for it until it is detached: run {}; then "
                    "`looseleaf init` a new cluster, and copy to that one",
                    shard::copy_command(original.cluster().file, target.shards().cluster().file, "--detach --force")));
  }
}

}  // namespace

void check_other(shard::Shards& other) {
  const shard::Access access = shard::in_other_store(other, [&] {
    other.check_identities();
    return shard::read_shard(other, 0, other.deadline(), shard::read_access);
  });
  if (access.state == AccessState::moved) {
    throw Error(ErrorCode::usage, "the other cluster is a store that has moved, so nothing is copied to it",
                shard::facts(access), "copy to a cluster that `init` has just made");
  }
}

// `thaw --force` opens a copy, and leaves its row, so that the copier refuses to go on.
void require_no_copy(shard::Shards& original) {
  const auto origin = origin_of(original);
  if (!origin) {
    return;
  }
  std::atomic<bool> is_copy = false;
  shard::for_each_shard(original, [&](std::uint32_t shard) {
    const shard::Access access = shard::read_shard(original, shard, original.deadline(), shard::read_access);
    is_copy = is_copy || shard::hint_for_copy(original, access).has_value();
  });
  if (is_copy) {
    throw Error(ErrorCode::usage, "this cluster is itself a copy", {{"original", *origin}},
                fmt::format("copy the original, or detach this copy first: {}",
                            shard::copy_command("", original.cluster().file, "--detach")));
  }
}

std::unique_ptr<Target> begin(shard::Shards& original, shard::Shards& other, const CopyOptions& options,
                              JobControl& control, CopyReport& report) {
  shard::require_not_moved(original);
  check_other(other);
  require_no_copy(original);
  std::unique_ptr<Target> target;
  try {
    target = std::make_unique<Target>(other, original.cluster_id(), original.count());
  } catch (Error& error) {
    error.with("cluster", "the other one");
    shard::of_other_store(error, other);
    throw;
  }
  if (target->announced()) {
    give_up_move(original, other);
    target->refuse();
  }
  try {
    copy_indexes(original, *target, options, control, report);
  } catch (const Error&) {
    if (target->fresh()) {  // so that its owner can drop what is wrong there
      target->open();
    }
    throw;
  }
  target->begin_writing();
  return target;
}

void catch_up(shard::Shards& original, Target& target, const CopyOptions& options, job::Job& job, CopyReport& report) {
  expect(original, job, target.positions());
  run_once(Copier(original, target, options, job, report), feed::Extent::entities_and_changes, original, target);
  job.checkpoint();
}

void follow(shard::Shards& original, Target& target, const CopyOptions& options, job::Job& job, CopyReport& report) {
  expect(original, job, target.positions());
  std::optional<std::string> failing;  // what was told
  const auto tell = [&](const Error* failure) {
    const auto what = failure != nullptr ? std::optional<std::string>(failure->what()) : std::nullopt;
    if (std::exchange(failing, what) != what && options.on_failure) {
      options.on_failure(std::nullopt, failure);
    }
  };
  bool told = false;
  const auto caught_up = [&] {
    if (!std::exchange(told, true) && options.on_caught_up) {
      options.on_caught_up();
    }
  };
  for (; !job.stopping(); sleep(job)) {
    try {
      run_once(Copier(original, target, options, job, report, {[&] { tell(nullptr); }, caught_up}),
               feed::Extent::follow, original, target);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted) {
        return;
      }
      if (!feed::passes(error)) {
        throw;
      }
      tell(&error);
    }
  }
}

CopyReport copy(shard::Shards& original, shard::Shards& other, const CopyOptions& options, JobControl& control) {
  CopyReport report;
  job::Job job(original, control, options.throttle, "copy",
               Error(ErrorCode::interrupted, "the copy was stopped; what was copied is kept", {},
                     "run the same command to resume"));
  const std::unique_ptr<Target> target = begin(original, other, options, control, report);
  if (options.follow) {
    follow(original, *target, options, job, report);
  } else {
    catch_up(original, *target, options, job, report);
    fill_indexes(*target, options, control);
  }
  return report;
}

shard::BufferCounts count_buffered(shard::Shards& original) {
  std::map<std::uint32_t, Error> failures;
  shard::BufferCounts all;
  for (const auto& [_, count] : shard::count_buffered(original, failures)) {
    all.copies += count.copies;
    all.refusals += count.refusals;
  }
  if (!failures.empty()) {
    throw failures.begin()->second;
  }
  return all;
}

// The copy becomes a store of its own, and what the original has buffered never comes there.
void require_no_buffered_writes(shard::Shards& original) {
  if (const std::uint64_t copies = count_buffered(original).copies; copies > 0) {
    throw Error(ErrorCode::busy, "there are buffered writes, which the other cluster would not get",
                {{"copies", std::to_string(copies)}},
                "run `looseleaf flush` first (`thaw` a frozen store before that, and freeze it again); to do without "
                "these writes, copy, and then detach with --force");
  }
}

void warn_of_refused_writes(shard::Shards& original) {
  if (const std::uint64_t refused = count_buffered(original).refusals; refused > 0) {
    original.warnings().give({"there are refused writes, which the other cluster does not get",
                              {{"writes", std::to_string(refused)}},
                              "see `looseleaf refused list`; put those that are still needed into the other cluster"});
  }
}

// The marks last: a run that died before is repeated.
CopyReport detach(shard::Shards& original, shard::Shards& other, CopyEnd end, const CopyOptions& options,
                  JobControl& control) {
  CopyReport report;
  check_other(other);
  if (!origin_of(other)) {
    if (!remove_marks(original, other.cluster_id())) {
      throw Error(ErrorCode::usage, "the other cluster is not a copy that is in progress", {},
                  "check --cluster and --to; nothing was changed");
    }
    return report;
  }
  require_not_moved_to(original, other);
  if (end == CopyEnd::caught_up) {
    try {
      shard::require_not_moved(original);
    } catch (Error& error) {
      error.with_hint(
          fmt::format("to open the copy as it is, run {}",
                      shard::copy_command(original.cluster().file, other.cluster().file, "--detach --force")));
      throw;
    }
    require_no_buffered_writes(original);
    report = copy(original, other, options, control);
    require_no_buffered_writes(original);  // a server may have been down meanwhile
    warn_of_refused_writes(original);
  }
  Target target(other, original.cluster_id(), original.count(), Target::Purpose::open);
  if (target.announced()) {
    give_up_move(original, other);
    target.refuse();
  }
  target.open();
  static_cast<void>(remove_marks(original, other.cluster_id()));
  return report;
}

}  // namespace looseleaf::copy

// The store is copied and compared while it is open. Then all writers wait for a moment, in which the rest is copied
// and compared. One compare-and-set on shard 0 decides that the store has moved.
#include "move/finish.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "compare/changes.hpp"
#include "compare/compare.hpp"
#include "copy/copy.hpp"
#include "copy/indexes.hpp"
#include "copy/source_marks.hpp"
#include "move/source.hpp"
#include "shard/access.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/move_announcement.hpp"
#include "shard/steps.hpp"
#include "trigger/list.hpp"
#include "trigger/manage.hpp"

namespace looseleaf::move {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t grace_seconds = 1;  // what is not settled by then is compared again, with what has changed
constexpr auto short_round = std::chrono::seconds(1);
constexpr int most_rounds = 60;
constexpr std::chrono::seconds longest_limit = std::chrono::hours(1);
constexpr std::chrono::seconds tolerable_lag = std::chrono::seconds(30);  // of a trigger, before writers wait for it
constexpr const char* nobody_runs_it =
    "no process runs it: let `looseleaf trigger run` catch up, or `looseleaf trigger drop` it";
constexpr auto nap = std::chrono::milliseconds(20);

Error stopped() {
  return {ErrorCode::interrupted,
          "the move was stopped; the store is open, and what was copied is kept",
          {},
          "run the same command to resume"};
}

Error opened_again() {
  return {ErrorCode::busy,
          "another process has opened the store again, so it does not move",
          {},
          "run the command again; if it took too long, there may be too many writes, or use a longer --freeze-limit"};
}

Error store_changed_meanwhile() {
  return {ErrorCode::busy, "another process has changed the state of the store", {}, "run the command again"};
}

// The number of entities that differ in the other cluster.
struct Differs {
  std::uint64_t entities;
};

// Which shard of which trigger has not delivered everything.
struct Late {
  std::string trigger;
  TriggerShard shard;
};

Error is_behind(const Late& late, const std::string& hint) {
  Error error(ErrorCode::busy, "a trigger is behind, so the store does not move",
              {{"trigger", late.trigger},
               {"shard", std::to_string(late.shard.shard)},
               {"changes", std::to_string(late.shard.lag_changes)},
               {"seconds", std::to_string(late.shard.lag.count())}},
              hint);
  if (!late.shard.error.empty()) {
    error.with("reason", late.shard.error);
  }
  return error;
}

class Move {
 public:
  Move(shard::Shards& original, shard::Shards& other, const MoveOptions& options, JobControl& control)
      : original_(original), other_(other), options_(options), control_(control) {}

  MoveReport run() {
    job::Throttling::check(original_.cluster(), options_.copy.throttle);
    original_.check_identities();
    copy::check_other(other_);
    Source source(original_, other_);
    if (source.has_moved_there() || !begin(source)) {
      if (!source.decide()) {  // shard 0 has forgotten it
        throw store_changed_meanwhile();
      }
      report_.was_decided = true;
      complete(source);
    } else {
      try {
        compare_all();
        announce();
        catch_up();
        copy::require_same_indexes(original_, other_);  // before writers wait
        move(source);
      } catch (const Differs& found) {
        report_.differences = found.entities;
        return std::move(report_);
      }
    }
    return std::move(report_);
  }

 private:
  // Returns false if an earlier process has decided the move meanwhile.
  bool begin(Source& source) {
    copy::require_no_copy(original_);
    source.require_not_frozen();
    source.require_may_freeze();
    require_empty_buffers();
    require_no_late_trigger(tolerable_lag);
    try {
      target_ = copy::begin(original_, other_, options_.copy, control_, report_.copy);
      if (shard::undo_moves(original_, other_.cluster_id(), original_.deadline())) {
        return true;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::moved) {
        throw;
      }
    }
    target_.reset();
    if (!source.has_moved_there()) {
      throw store_changed_meanwhile();
    }
    return false;
  }

  // move.check_buffers: the other cluster would never get what is buffered here. While the store is frozen, nothing
  // more is buffered.
  void require_empty_buffers() {
    const shard::Step step(shard::steps::move_check_buffers, 0);
    std::map<std::uint32_t, Error> failures;
    const auto counts = shard::count_buffered(original_, failures);
    if (!failures.empty()) {
      throw failures.begin()->second;
    }
    if (counts.empty() || step.left_out()) {
      return;
    }
    std::uint64_t copies = 0, refusals = 0;
    bool refused = true;  // that is all
    for (const auto& [_, count] : counts) {
      copies += count.copies;
      refusals += count.refusals;
      refused = refused && count.copies == 0 && count.receipts == 0;
    }
    throw Error(ErrorCode::busy,
                refused ? "there are refused writes, so the store does not move"
                        : "there are buffered writes, so the store does not move",
                {{refused ? "writes" : "copies", std::to_string(refused ? refusals : copies)}},
                refused ? "see `looseleaf refused list`, and retry or drop them"
                        : "run `looseleaf flush` first, and then `looseleaf refused list`");
  }

  // Returns a shard of a trigger that has not delivered everything yet, if there is one. Sets the names of all
  // triggers.
  std::optional<Late> late_trigger() {
    std::map<std::uint32_t, Error> down;
    const std::vector<TriggerStatus> triggers = trigger::list(original_, down);
    if (!down.empty()) {
      throw down.begin()->second;
    }
    report_.triggers.clear();
    std::optional<Late> late;
    for (const TriggerStatus& status : triggers) {
      report_.triggers.push_back(status.name);
      std::vector<bool> has_row(original_.count());
      for (const TriggerShard& shard : status.shards) {
        if ((shard.lag_changes > 0 || shard.scanning) && (!late || shard.lag > late->shard.lag)) {
          late = {status.name, shard};
        }
        has_row[shard.shard] = true;
      }
      const auto without_row = std::find(has_row.begin(), has_row.end(), false);
      if (!late && without_row != has_row.end()) {  // it begins there with all entities
        late = {status.name, {.shard = static_cast<std::uint32_t>(without_row - has_row.begin()), .scanning = true}};
      }
    }
    return late;
  }

  void require_no_late_trigger(std::chrono::seconds tolerable) {
    const auto late = late_trigger();
    if (late && late->shard.holder.empty()) {
      throw is_behind(*late, nobody_runs_it);
    }
    if (late && late->shard.lag > tolerable) {
      throw is_behind(*late, "wait until it has caught up: `looseleaf trigger list` shows it");
    }
  }

  // Compares both stores while the copy goes on, so that it can tell what is late from what differs.
  void compare_all() {
    job::Job job(original_, control_, options_.copy.throttle, "copy", stopped());
    copy::catch_up(original_, *target_, options_.copy, job, report_.copy);
    copy::fill_indexes(*target_, options_.copy, control_);
    changes_.emplace(target_->positions());
    target_->keep_from(target_->positions());  // what is deleted from now on is compared at the end
    JobControl following;
    CompareReport found;
    CompareOptions options{.grace_seconds = grace_seconds, .throttle = options_.copy.throttle};
    options.on_difference = [&](const Difference& difference) {
      if (options_.on_difference && difference.kind != DifferenceKind::unsettled) {
        options_.on_difference(difference);
      }
    };
    const auto compare = [&] {
      try {
        found = compare::compare(original_, other_, options, control_);
      } catch (...) {
        following.stop = true;
        throw;
      }
      following.stop = true;
    };
    std::exception_ptr lost;  // why the copy does not go on; the comparison is useless then, and may take days
    bool was_stopped = false;
    const auto follow = [&] {
      try {
        job::Job background(original_, following, options_.copy.throttle, "copy", stopped());
        copy::follow(original_, *target_, options_.copy, background, report_.copy);
      } catch (...) {
        lost = std::current_exception();
        was_stopped = control_.stop.exchange(true);  // stops the comparison
        throw;
      }
    };
    try {
      base::run_all({compare, follow});
    } catch (...) {
      if (lost) {
        control_.stop = was_stopped;
        std::rethrow_exception(lost);
      }
      throw;
    }
    report_.compared = found.entities;
    if (found.found > 0) {  // what is unsettled has changed meanwhile, and is compared again
      throw Differs{found.found};
    }
  }

  // Not while writers wait: each shard waits for the statements that use its table.
  void announce() {
    shard::announce_move(original_, [this] { return control_.stop.load(); });
    if (control_.stop) {
      throw stopped();
    }
  }

  // Copies and compares what has changed, in rounds, until a round is short, or does not become shorter.
  void catch_up() {
    job::Job job(original_, control_, options_.copy.throttle, "copy", stopped());
    Clock::duration last = std::chrono::hours(1);
    for (int round = 0; round < most_rounds; ++round) {
      const auto begin = Clock::now();
      copy_and_compare(job);
      const auto took = Clock::now() - begin;
      if (took < short_round || (took < options_.freeze_limit / 3 && took * 10 > last * 9)) {
        return;
      }
      last = took;
    }
    throw Error(ErrorCode::busy, "the copy does not catch up with the writers, so the store does not move", {},
                "run the command again when there are fewer writes");
  }

  void copy_and_compare(job::Job& job) {
    copy::catch_up(original_, *target_, options_.copy, job, report_.copy);
    compare_changes(job);
  }

  void compare_changes(job::Job& job) {
    job::Job part(job, other_, {}, "compare");
    changes_->compare({original_, job}, {other_, part, true});
    report_.compared_again = changes_->compared();
  }

  void move(Source& source) {
    require_no_late_trigger(std::min(tolerable_lag, options_.freeze_limit / 2));
    const auto begin = Clock::now();
    const auto until = begin + options_.freeze_limit;
    try {
      source.freeze(options_.freeze_limit);
      prepare(source, until);
      if (Clock::now() >= until) {
        throw Error(ErrorCode::busy, "writers would have to wait too long, so the store does not move", {},
                    "run the command again when there are fewer writes, or use a longer --freeze-limit");
      }
      if (!source.decide()) {
        throw opened_again();
      }
    } catch (...) {
      give_up(source, std::current_exception());
    }
    complete(source);
    report_.blocked = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  }

  // Returns only if the move was decided after all.
  void give_up(Source& source, const std::exception_ptr& failure) {
    std::vector<std::uint32_t> left;
    try {
      if (!source.undo(left)) {
        return;
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::moved) {  // to another cluster
        refuse_again();
      }
      throw;
    }
    refuse_again();
    try {
      std::rethrow_exception(failure);
    } catch (const Differs&) {
      if (!left.empty()) {
        original_.warnings().give({"writers still wait on some shards, until --freeze-limit has passed",
                                   {{"shards", fmt::format("{}", fmt::join(left, ", "))}},
                                   "`looseleaf thaw` ends that"});
      }
      throw;
    } catch (Error& error) {
      if (!left.empty()) {
        error.with("writers wait until --freeze-limit on the shards", fmt::format("{}", fmt::join(left, ", ")));
      }
      throw;
    }
  }

  // Once the move is decided.
  void complete(Source& source) {
    warn_of_triggers();
    try {
      source.mark();
      if (target_) {
        target_->open();
      } else if (copy::origin_of(other_) == to_string(original_.cluster_id())) {
        copy::Target(other_, original_.cluster_id(), original_.count(), copy::Target::Purpose::open).open();
      }
    } catch (const Error& error) {
      Error decided(error.code(), "the store has moved, but the other cluster is not open yet", error.context(),
                    "run the command again: it completes the move");
      throw decided.with("cause", error.what());
    }
    try {
      static_cast<void>(copy::remove_marks(original_, other_.cluster_id()));
    } catch (const Error& error) {
      original_.warnings().give({"the store has moved, but still protects its deletes from purging",
                                 {{"reason", error.what()}},
                                 "this does no harm; run the command again"});
    }
  }

  // While nobody writes to either store: everything is copied, both are found to be the same, and writers of the other
  // one wait.
  void prepare(Source& source, Clock::time_point until) {
    job::Job job(original_, control_, {}, "move", stopped());
    if (const shard::Step step(shard::steps::move_drain, 0); !step.left_out()) {
      copy::catch_up(original_, *target_, options_.copy, job, report_.copy);
    }
    if (const shard::Step step(shard::steps::move_compare, 0); !step.left_out()) {
      compare_changes(job);
    }
    require_no_difference(source, job);
    copy::require_same_indexes(original_, other_);
    require_empty_buffers();
    wait_for_triggers(until);
    base::Stamp floor;
    for (const auto& [shard, position] : target_->positions()) {
      floor = std::max(floor, position.place.updated);
    }
    target_->announce({floor.micros + 1});
    start_triggers();
    job.checkpoint();
  }

  void start_triggers() {
    try {
      const std::vector<std::string> begun =
          trigger::start_now(other_, report_.triggers, copy::trigger_generation(original_.cluster_id()));
      for (const std::string& name : std::exchange(report_.triggers, begun)) {
        if (std::find(begun.begin(), begun.end(), name) == begun.end()) {
          begun_before_.push_back(name);
        }
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::busy || error.code() == ErrorCode::frozen) {
        throw copy::taken_over();
      }
      throw;
    }
  }

  void warn_of_triggers() {
    for (const std::string& name : begun_before_) {
      other_.warnings().give(
          {"a trigger of this name was run in the other cluster before, so it goes on there from "
           "its own position",
           {{"trigger", name}},
           "it may deliver again what its consumer has from this store"});
    }
  }

  void require_no_difference(Source& source, job::Job& job) {
    if (changes_->differing().empty()) {
      return;
    }
    job::Job part(job, other_, {}, "compare");
    const auto differences = changes_->differences({original_, job}, {other_, part, true});
    if (!source.is_frozen()) {  // what differs may have been written since
      throw opened_again();
    }
    for (const Difference& difference : differences) {
      if (options_.on_difference) {
        options_.on_difference(difference);
      }
    }
    throw Differs{differences.size()};
  }

  void wait_for_triggers(Clock::time_point until) {
    while (const auto late = late_trigger()) {
      if (control_.stop) {
        throw stopped();
      }
      if (Clock::now() >= until || late->shard.holder.empty()) {
        throw is_behind(*late, late->shard.holder.empty()
                                   ? nobody_runs_it
                                   : "run the command again when it keeps up, or use a longer --freeze-limit");
      }
      std::this_thread::sleep_for(nap);
    }
  }

  // A failure does not matter: the next run claims the shards anyway.
  void refuse_again() {
    try {
      target_->refuse();
    } catch (const Error&) {
    }
  }

  shard::Shards& original_;
  shard::Shards& other_;
  const MoveOptions& options_;
  JobControl& control_;
  MoveReport report_;
  std::vector<std::string> begun_before_;  // triggers that have positions of their own in the other cluster
  std::unique_ptr<copy::Target> target_;
  std::optional<compare::Changes> changes_;
};

}  // namespace

MoveReport finish(shard::Shards& original, shard::Shards& other, const MoveOptions& options, JobControl& control) {
  if (options.freeze_limit < std::chrono::seconds(1) || options.freeze_limit > longest_limit) {
    throw Error(ErrorCode::usage, "not usable as the time for which writers may wait",
                {{"seconds", std::to_string(options.freeze_limit.count())}},
                fmt::format("give 1 to {} seconds", longest_limit.count()));
  }
  return Move(original, other, options, control).run();
}

}  // namespace looseleaf::move

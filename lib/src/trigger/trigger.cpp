// A batch is delivered, and then its positions are stored. So a process that dies in between delivers it again.
#include "trigger/trigger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error_text.hpp"
#include "feed/change.hpp"
#include "feed/rounds.hpp"
#include "shard/steps.hpp"
#include "trigger/batch.hpp"
#include "trigger/division.hpp"
#include "trigger/holdings.hpp"
#include "trigger/manage.hpp"

namespace looseleaf::trigger {
namespace {

using Clock = std::chrono::steady_clock;
using shard::Step;
namespace steps = shard::steps;

constexpr auto first_delay = std::chrono::seconds(1);
constexpr auto longest_delay = std::chrono::seconds(60);
constexpr auto nap = std::chrono::milliseconds(20);

std::string now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return to_string(base::Stamp{std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()});
}

class Runner : public feed::Reader {
 public:
  Runner(shard::Shards& shards, const TriggerOptions& options, const Deliver& deliver)
      : shards_(shards), options_(options), deliver_(deliver), filter_(options.where), batch_(options.batch) {}

  TriggerReport run() {
    feed::Rounds rounds(shards_, *this, feed::Extent::follow, feed::Failures::told);
    const auto looked = [&](std::uint32_t shard, const Error* failure) {
      constexpr auto by = feed::Rounds::FoundBy::look;
      failure ? rounds.fails(shard, *failure, by) : rounds.works(shard, by);
    };
    Division division(shards_, holdings_, options_.name, {[this] { report_progress(); }, looked});
    division_ = &division;
    try {
      rounds.run(shard::all_shards(shards_));
      division.check();
    } catch (Error& error) {
      if (error.code() == ErrorCode::bad_position) {
        refuse(error);
      }
      if (error.code() == ErrorCode::moved) {
        error.with_hint(
            "everything was delivered; run the trigger with the cluster file of the new store, where it goes on");
      }
      throw;
    }
    filter_.warn_of_mistakes(shards_.warnings(), model::Filter::Reading::ended);
    return report();
  }

  bool ended() override { return ended_ || division_->failed() || (options_.stop && options_.stop()); }

  void end() override { ended_ = true; }

  std::vector<std::uint32_t> choose(std::span<const std::uint32_t> shards) override {
    return holdings_.held_of(shards);
  }

  std::optional<feed::ShardPosition> position(std::uint32_t shard) override { return holdings_.reading(shard); }

  std::optional<feed::ShardPosition> take(std::uint32_t shard, const std::optional<feed::ShardPosition>& from,
                                          feed::Page page, feed::Source source) override {
    std::vector<std::pair<Change, feed::ShardPosition>> changes;
    for (shard::EntityRow& row : page.rows) {
      if (auto change = feed::to_change(shard, row, filter_, source)) {
        changes.emplace_back(*std::move(change), feed::position_after(row, *from, page.end));
      }
      row.body.reset();
    }
    const std::lock_guard lock(mutex_);
    Holdings::Position at = from;
    for (auto& [change, after] : changes) {
      if (batch_.full()) {
        flush();
      }
      if (ended() || !holdings_.move(shard, at, after)) {
        return std::nullopt;
      }
      batch_.add(std::move(change));
      batch_.end_at(shard, after);
      at = after;
    }
    if (ended() || !holdings_.move(shard, at, page.end)) {
      return std::nullopt;
    }
    batch_.end_at(shard, page.end);
    if (!from) {  // purging spares what is behind a position that is stored
      flush();
    }
    return page.end;
  }

  void end_round() override {
    filter_.warn_of_mistakes(shards_.warnings(), model::Filter::Reading::goes_on);
    const std::lock_guard lock(mutex_);
    flush();
  }

  void tell(std::uint32_t shard, const Error* failure) override {
    const std::lock_guard lock(report_mutex_);
    if (options_.on_failure) {
      options_.on_failure(shard, failure);
    }
  }

 private:
  // Delivers and stores the batch in hand, or gives it up if this process is to end. Call it with mutex_ locked.
  void flush() {
    if (batch_.empty()) {
      return;
    }
    if (deliver()) {
      store();
    } else {
      holdings_.rewind();
    }
    batch_.clear();
    report_progress();
  }

  // Returns true once the consumer has taken the batch, false if this process is to end before.
  bool deliver() {
    std::uint64_t times = 0;
    std::string since;
    for (auto delay = Clock::duration(first_delay); !ended();
         delay = std::min<Clock::duration>(2 * delay, longest_delay)) {
      drop_lost_shards();
      const auto reason = batch_.changes().empty() ? std::nullopt : attempt();
      if (!reason) {
        return true;
      }
      since = since.empty() ? now() : since;
      count_failure();
      note_error({*reason, since, ++times});
      wait(delay);
    }
    return false;
  }

  // Another process delivers what is of a shard that was lost.
  void drop_lost_shards() {
    const auto ends = batch_.ends();
    for (const auto& [shard, end] : ends) {
      if (!holdings_.is_at(shard, end)) {
        batch_.drop(shard);
      }
    }
  }

  // Returns why the consumer has not taken the batch; absent if it has.
  std::optional<std::string> attempt() {
    const Step step(steps::trigger_deliver, batch_.changes().front().shard);
    if (step.left_out()) {
      return std::nullopt;
    }
    try {
      return deliver_(batch_.changes()) ? std::nullopt : std::optional<std::string>("the consumer refused the batch");
    } catch (const Error& error) {
      return base::on_one_line(error);
    }
  }

  void wait(Clock::duration delay) {
    for (const auto until = Clock::now() + delay; Clock::now() < until && !ended();) {
      std::this_thread::sleep_for(nap);
    }
  }

  // A shard whose position cannot be stored is forgotten. The division finds it again, with the position before.
  void store() {
    std::vector<std::uint32_t> stored;
    for (const auto& [shard, end] : batch_.ends()) {
      stored.push_back(shard);
    }
    std::mutex mutex;
    std::set<std::uint32_t> silent;  // servers, which are asked once
    shard::for_shards(shards_, stored, [&](std::uint32_t shard) {
      const feed::ShardPosition& end = batch_.ends().at(shard);
      std::optional<TriggerRow> row = holdings_.row(shard);
      if (!row || !holdings_.is_at(shard, end)) {
        return;
      }
      row->position = end;
      row->done += batch_.changes_of(shard);
      row->error.reset();
      const std::uint32_t server = shards_.sessions().connector().server_of(shard);
      bool written = false;
      try {
        const auto is_silent = [&] {
          const std::lock_guard lock(mutex);
          return silent.contains(server);
        };
        written = !is_silent() && write(shard, *row);
      } catch (const Error& error) {
        if (!feed::passes(error)) {
          throw;
        }
        if (!shard::may_be_one_shards(error)) {
          const std::lock_guard lock(mutex);
          silent.insert(server);
        }  // the reader of the shard tells of the failure
      }
      if (written) {
        holdings_.store(shard, *row);
        count_delivered(batch_.changes_of(shard));
      } else {
        holdings_.lose(shard);
      }
    });
  }

  // Returns false if the shard was taken over by another process.
  bool write(std::uint32_t shard, const TriggerRow& row) {
    const Step step(steps::trigger_store, shard);
    return shard::with_shard(shards_, shard, deadline_of_look(),
                             [&](const sql::Database& database) { return store_progress(database, row); });
  }

  // Keeps the error for `trigger list`, as well as that is possible.
  void note_error(const DeliveryError& error) {
    const base::Deadline deadline = deadline_of_look();  // of all: it is only a message
    for (const auto& [shard, end] : batch_.ends()) {
      if (std::optional<TriggerRow> row = batch_.changes_of(shard) > 0 ? holdings_.row(shard) : std::nullopt) {
        row->error = error;
        note_error(shard, *row, deadline);
      }
    }
  }

  void note_error(std::uint32_t shard, const TriggerRow& row, const base::Deadline& deadline) {
    try {
      shard::with_shard(shards_, shard, deadline,
                        [&](const sql::Database& database) { static_cast<void>(store_progress(database, row)); });
    } catch (const Error&) {
    }
  }

  // Ends the run at a position that is no longer valid.
  [[noreturn]] void refuse(const Error& error) {
    if (const auto shard = server::shard_named_by(error)) {
      if (std::optional<TriggerRow> row = holdings_.row(*shard)) {
        row->error = {error.what(), now(), 1};
        note_error(*shard, *row, deadline_of_look());
      }
    }
    throw Error(
        error.code(), error.what(), error.context(),
        fmt::format("run `looseleaf trigger reset {}`, which begins with all entities, and let the consumer drop "
                    "what it does not receive",
                    options_.name));
  }

  void count_delivered(std::uint64_t changes) {
    const std::lock_guard lock(report_mutex_);
    report_.delivered += changes;
  }

  void count_failure() {
    const std::lock_guard lock(report_mutex_);
    ++report_.failures;
  }

  TriggerReport report() {
    const std::lock_guard lock(report_mutex_);
    report_.shards = holdings_.held();
    return report_;
  }

  void report_progress() {
    const TriggerReport now = report();
    const std::lock_guard lock(report_mutex_);
    if (options_.on_progress) {
      options_.on_progress(now);
    }
  }

  shard::Shards& shards_;
  const TriggerOptions& options_;
  const Deliver& deliver_;
  const model::Filter filter_;
  Holdings holdings_;
  Division* division_ = nullptr;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;  // guards batch_, and calls of deliver_
  Batch batch_;
  std::mutex report_mutex_;  // guards report_, and calls of the other functions of the caller
  TriggerReport report_;
};

}  // namespace

TriggerReport run(shard::Shards& shards, const TriggerOptions& options, const Deliver& deliver) {
  check_name(options.name);
  Runner runner(shards, options, deliver);  // refuses wrong conditions before the trigger exists
  create(shards, options.name, options.after);
  return runner.run();
}

}  // namespace looseleaf::trigger

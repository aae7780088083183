// The second look of a query, at what may have moved while it read.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>

#include "read/query_execution.hpp"
#include "shard/entity_rows.hpp"
#include "shard/steps.hpp"

namespace looseleaf::read {

using shard::Step;
namespace steps = shard::steps;

bool QueryExecution::may_have_missed() const {
  if (!plan_.rows_can_move() || decided_.forgot()) {
    return false;
  }
  return plan_.is_sharded() ? statements_ > 1
                            : std::any_of(streams_.begin(), streams_.end(),
                                          [](const ShardRows& stream) { return stream.was_read_again(); });
}

// An entity that matched all the time has a row now. If that row was not read, it was written after its place had been
// read, and is found here, where all rows of a shard are of one moment. Between the moments of several statements, the
// row can have moved once more. Then the entity changed since the query began.
bool QueryExecution::look_again(const std::optional<shard::IndexEntry>& end) {
  if (!may_have_missed()) {
    return true;
  }
  looked_again_ = true;
  stop_if_asked();
  std::vector<std::uint32_t> shards;
  for (const ShardRows& stream : streams_) {
    shards.push_back(stream.shard());
  }
  const auto sent = std::chrono::steady_clock::now();
  const base::Deadline deadline = shards_.deadline(purpose_of(query_));
  std::mutex mutex;
  std::vector<Uuid> ids;
  std::size_t statements = 0;
  bool was_split = false;
  for_groups(
      shards,
      [&](std::span<const std::uint32_t> group) {
        const RowReader::Ids found = reader_.read_ids(group, {after_, end}, deadline);
        warn_of_limit(found, RowReader::most_ids, "index rows");
        const std::lock_guard lock(mutex);
        statements += found.statements;
        was_split = was_split || found.statements > 1;
        add_undecided(found.ids, ids);
      },
      [](std::uint32_t) {});
  if ((plan_.is_sharded() && statements > 1) || was_split) {
    const std::vector<Uuid> changed = find_changed(2 * (std::chrono::steady_clock::now() - sent));
    ids.insert(ids.end(), changed.begin(), changed.end());
  }
  // They are given in order, so that the place of the last one on a page is behind none of the others.
  read_late(ids, [&](shard::IndexEntry place, const Entity&) {
    if (moved_.size() < most_remembered) {
      moved_.insert(std::move(place));
    }
    return true;
  });
  return give_moved(end ? &*end : nullptr);
}

// The servers' clocks say how long ago an entity changed. The statement is executed later than it is sent: at most as
// much later as the answer takes, which must not be more than the margin.
std::vector<Uuid> QueryExecution::find_changed(std::chrono::steady_clock::duration margin) {
  using std::chrono::steady_clock;
  const std::vector<std::uint32_t> shards = shard::all_shards(shards_);
  const base::Deadline deadline = shards_.deadline(purpose_of(query_));
  while (true) {
    stop_if_asked();
    const auto sent = steady_clock::now();
    const auto age = std::chrono::ceil<std::chrono::microseconds>(sent - begun_ + margin);
    std::mutex mutex;
    std::vector<Uuid> ids;
    for_groups(
        shards,
        [&](std::span<const std::uint32_t> group) {
          const Step step(steps::query_find_changed, group.front());
          if (step.left_out()) {
            return;
          }
          const shard::SomeIds found =
              shard::with_group(shards_, group, deadline, purpose_of(query_), [&](shard::Lease& lease) {
                return shard::read_changed(lease, group, age, most_remembered / group.size());
              });
          warn_of_limit(found, most_remembered, "changed entities");
          const std::lock_guard lock(mutex);
          add_undecided(found.ids, ids);
        },
        [](std::uint32_t) {});
    const auto taken = steady_clock::now() - sent;
    if (taken <= margin) {
      return ids;
    }
    margin = 2 * taken;
  }
}

void QueryExecution::add_undecided(const std::vector<Uuid>& from, std::vector<Uuid>& to) const {
  std::copy_if(from.begin(), from.end(), std::back_inserter(to),
               [&](const Uuid& id) { return !decided_.contains(id); });
}

// Warnings are given once each.
void QueryExecution::warn_of_limit(const shard::SomeIds& found, std::size_t limit, std::string_view things) {
  if (!found.all) {
    shards_.warnings().give(
        {"the query could not look again at everything that may have moved while it ran",
         {{"index", index_.definition.table}, {"limit", fmt::format("{} {} in one statement", limit, things)}},
         "an entity whose row moved meanwhile may be missing or come twice; narrow the conditions, or repeat the query "
         "while less is written"});
  }
}

}  // namespace looseleaf::read

// Merges many texts. Each round reads the versions of those that are left, and stores the merged texts on condition
// that these are still the last versions.
#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/deadline.hpp"
#include "model/entity.hpp"
#include "model/merge_patch.hpp"
#include "shard/placement.hpp"
#include "sql/retry.hpp"
#include "update/update.hpp"
#include "update/versions.hpp"
#include "write/batch.hpp"
#include "write/pipeline.hpp"

namespace looseleaf::update {
namespace {

class Merge {
 public:
  Merge(shard::Shards& shards, write::Writer& writer, const std::vector<std::string>& texts,
        const std::vector<Position>& positions, const Key& key)
      : shards_(shards),
        texts_(texts),
        positions_(positions),
        key_(key),
        results_(texts.size()),
        deadlines_(texts.size()),
        pipeline_(shards, writer, [this](WriteResult result) { take(std::move(result)); }) {}

  std::vector<WriteResult> run() {
    std::vector<std::size_t> left = accept_all();
    sql::Backoff backoff;
    while (!left.empty()) {
      const auto [first, others] = distinct(left);
      changed_.clear();
      blocked_.clear();
      merge(first);
      std::vector<std::size_t> again = still_in_time();
      take_blocked(others, again);
      const bool none_stored = again.size() == first.size();
      std::merge(again.begin(), again.end(), others.begin(), others.end(), std::back_inserter(left = {}));
      if (none_stored) {
        backoff.wait(shards_.deadline());
      }
    }
    pipeline_.finish();
    return std::move(results_);
  }

 private:
  struct Unchanged {
    std::vector<std::size_t> places;
    std::map<Uuid, std::string> stamps;
  };
  using UnchangedByShard = std::map<std::uint32_t, Unchanged>;

  // Returns the places of the texts that can be merged.
  std::vector<std::size_t> accept_all() {
    std::vector<std::size_t> accepted;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      results_[i].sequence = i;
      results_[i].position = position(i);
      results_[i].text = texts_[i];
      try {
        const model::AcceptedEntity entity = model::accept_entity(texts_[i], position(i), key_);
        if (entity.id_was_made) {
          throw Error(ErrorCode::bad_entity, "there is no id to merge with", {}, "add the `id` of a stored entity");
        }
        results_[i].id = entity.id;
        accepted.push_back(i);
      } catch (Error& error) {
        if (error.hint() == model::hint_for_id) {
          error.with_hint("write the id of a stored entity, 32 hexadecimal digits as a string");
        }
        decide(i, WriteStatus::rejected, error);
      }
    }
    return accepted;
  }

  [[nodiscard]] Position position(std::size_t place) const {
    return positions_.empty() ? Position() : positions_[place];
  }

  // Returns the first place of each id, and the others, which are merged after it.
  [[nodiscard]] std::pair<std::vector<std::size_t>, std::vector<std::size_t>> distinct(
      const std::vector<std::size_t>& places) const {
    std::pair<std::vector<std::size_t>, std::vector<std::size_t>> divided;
    std::set<Uuid> seen;
    for (const std::size_t place : places) {
      (seen.insert(*results_[place].id).second ? divided.first : divided.second).push_back(place);
    }
    return divided;
  }

  void merge(const std::vector<std::size_t>& places) {
    std::vector<Uuid> ids;
    for (const std::size_t place : places) {
      ids.push_back(*results_[place].id);
      deadlines_[place] = deadlines_[place] ? deadlines_[place] : shards_.deadline();
    }
    UnchangedByShard unchanged;
    auto next = places.begin();
    read_versions(shards_, ids, model::require_mergeable,
                  [&](const GetResult& read) { merge(*next++, read, unchanged); });
    pipeline_.flush();
    for (const auto& [shard, of_shard] : unchanged) {
      conclude_unchanged(shard, of_shard);
    }
  }

  void merge(std::size_t place, const GetResult& read, UnchangedByShard& unchanged) {
    if (read.error) {
      decide(place, WriteStatus::failed, *read.error);
    } else if (!read.entity) {
      decide(place, WriteStatus::not_found);
    } else if (std::string text = model::merge_patch(read.entity->json, texts_[place]); text == read.entity->json) {
      Unchanged& of_shard = unchanged[shard::shard_of(read.id, shards_.count())];
      of_shard.places.push_back(place);
      of_shard.stamps.emplace(read.id, read.stamp);
    } else {
      {
        const std::lock_guard lock(mutex_);
        under_way_.push_back(place);
      }
      pipeline_.put(std::move(text), position(place),
                    write::to_condition({WriteCondition::Kind::unchanged, read.stamp}));
    }
  }

  // Called by the thread of the pipeline, in the order of its puts. No other thread uses these places meanwhile.
  void take(WriteResult result) {
    std::size_t place = 0;
    {
      const std::lock_guard lock(mutex_);
      place = under_way_.front();
      under_way_.pop_front();
    }
    if (result.status == WriteStatus::changed) {
      changed_.push_back(place);
      return;
    }
    results_[place].holder = result.holder;
    if (result.holder) {
      blocked_.emplace_back(place, *result.holder);
    }
    decide(place, result.status, std::move(result.error));
  }

  // Adds to `again` those whose unique values an entity has that an earlier text is still to be merged with, be it one
  // of the `others` or of `again`.
  void take_blocked(const std::vector<std::size_t>& others, std::vector<std::size_t>& again) {
    std::map<Uuid, std::size_t> first_left;  // places by id
    for (const auto* const places : {&others, &std::as_const(again)}) {
      for (const std::size_t place : *places) {
        const auto [known, is_new] = first_left.emplace(*results_[place].id, place);
        known->second = std::min(known->second, place);
      }
    }
    for (const auto& [place, holder] : blocked_) {  // in order: others may be blocked by it
      const auto earlier = first_left.find(holder);
      if (earlier != first_left.end() && earlier->second < place) {
        again.push_back(place);
        first_left.insert_or_assign(*results_[place].id, place);
      }
    }
    std::sort(again.begin(), again.end());
  }

  void conclude_unchanged(std::uint32_t shard, const Unchanged& unchanged) {
    std::optional<Error> failure;
    std::set<Uuid> changed;
    try {
      changed = make_durable(shards_, shard, unchanged.stamps);
    } catch (const Error& error) {
      failure = error;
    }
    for (const std::size_t place : unchanged.places) {
      if (changed.contains(*results_[place].id)) {
        changed_.push_back(place);
      } else {
        decide(place, failure ? WriteStatus::failed : WriteStatus::unchanged, failure);
      }
    }
  }

  // Returns what is to be merged again.
  [[nodiscard]] std::vector<std::size_t> still_in_time() {
    std::vector<std::size_t> again;
    for (const std::size_t place : changed_) {
      if (deadlines_[place]->passed()) {
        decide(place, WriteStatus::failed,
               Error(ErrorCode::unavailable, "the entity changed again and again until the timeout",
                     {{"id", to_string(*results_[place].id)}}, "retry, or use a longer --timeout"));
      } else {
        again.push_back(place);
      }
    }
    return again;
  }

  void decide(std::size_t place, WriteStatus status, std::optional<Error> error = {}) {
    WriteResult& result = results_[place];
    result.status = status;
    result.error = std::move(error);
    if (status == WriteStatus::stored || status == WriteStatus::unchanged) {
      result.text.clear();
    }
  }

  shard::Shards& shards_;
  const std::vector<std::string>& texts_;
  const std::vector<Position>& positions_;
  const Key& key_;
  std::vector<WriteResult> results_;
  std::vector<std::optional<base::Deadline>> deadlines_;  // since the first attempt
  std::mutex mutex_;
  std::deque<std::size_t> under_way_;  // the places of the pipeline's puts that have no result; guarded by mutex_
  std::vector<std::size_t> changed_;
  std::vector<std::pair<std::size_t, Uuid>> blocked_;  // which entity has the unique values of a place, in order
  write::Pipeline pipeline_;                           // last, because its threads use the other members
};

}  // namespace

std::vector<WriteResult> merge(shard::Shards& shards, write::Writer& writer, const std::vector<std::string>& texts,
                               const std::vector<Position>& positions, const Key& key) {
  return Merge(shards, writer, texts, positions, key).run();
}

}  // namespace looseleaf::update

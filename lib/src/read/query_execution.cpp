// Merges index rows, and matches them with their entities.
#include "read/query_execution.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "read/page_token.hpp"
#include "shard/access.hpp"
#include "shard/steps.hpp"

namespace looseleaf::read {

using shard::Step;
namespace steps = shard::steps;

namespace {

// Returns how many rows one of several shards should contribute to a chunk: twice its share, and a few more. Then even
// the rows of a small chunk, which are not spread evenly, seldom need a second read.
std::size_t share_of(std::size_t chunk, std::size_t shards) {
  constexpr std::size_t few = 3;
  return std::min(chunk, 2 * chunk / shards + few);
}

}  // namespace

shard::Purpose purpose_of(const Query& query) {
  return query.partial ? shard::Purpose::fail_fast : shard::Purpose::general;
}

QueryExecution::QueryExecution(shard::Shards& shards, const shard::CatalogIndex& index, const Query& query,
                               Unavailable& unavailable, const std::function<bool(const Entity&)>& on_entity)
    : shards_(shards),
      index_(index),
      query_(query),
      plan_(index.definition, query),
      filter_(query.where),
      unavailable_(unavailable),
      on_entity_(on_entity),
      reader_(shards, purpose_of(query), index, plan_),
      several_rows_(plan_.has_several_rows()),
      after_(query.after.empty() ? std::nullopt : std::optional(parse_token(index.definition, query, query.after))),
      moved_(Before{plan_}) {
  // The query reads one row more than the limit, to learn whether there is a next page.
  const std::size_t chunk = query.limit == 0 ? ShardRows::first_chunk
                                             : std::min<std::uint64_t>(query.limit, ShardRows::largest_chunk - 1) + 1;
  batch_size_ = chunk;
  const std::vector<std::uint32_t> wanted = plan_.shards(shards.count());
  for (const std::uint32_t shard : wanted) {
    if (!unavailable.record_miss(shard)) {
      streams_.emplace_back(shard, after_, share_of(chunk, wanted.size()));
    }
  }
}

void QueryExecution::warn_of_mistakes() const {
  filter_.warn_of_mistakes(shards_.warnings(), model::Filter::Reading::ended);
  if (const std::optional<Warning> contradiction = plan_.contradiction()) {
    shards_.warnings().give(*contradiction);
  }
}

QueryReport QueryExecution::run() {
  bool more = true;
  while (more) {
    stop_if_asked();
    const std::vector<shard::IndexEntry> entries = next_batch();
    if (entries.empty()) {
      break;
    }
    more = give(entries);
  }
  more = more && give_moved(nullptr);
  if (more) {  // also if the page is full: what is found then begins the next one
    look_again(std::nullopt);
  }
  for (const ShardRows& stream : streams_) {
    QueryReport::Shard shard = stream.report();
    report_.index_rows += shard.index_rows;
    if (!shard.sql.empty()) {
      report_.shards.push_back(std::move(shard));
    }
  }
  warn_of_mistakes();
  if (!unavailable_.missed().empty() && report_.entities_read == 0) {  // no read of an entity has asked
    require_not_moved();
  }
  for (const auto& [shard, error] : unavailable_.missed()) {
    report_.unavailable.emplace_back(shard, error);
  }
  return std::move(report_);
}

// One shard suffices: the other store takes no writes before all shards of this one say that it has moved.
void QueryExecution::require_not_moved() {
  for (const ShardRows& stream : streams_) {
    const std::uint32_t shard = stream.shard();
    if (unavailable_.missed().contains(shard)) {
      continue;
    }
    bool answers = true;
    for_groups(
        {&shard, 1},
        [&](std::span<const std::uint32_t> group) {
          shard::with_group(shards_, group, shards_.deadline(shard::Purpose::fail_fast), shard::Purpose::fail_fast,
                            [&](shard::Lease& lease) { shard::require_not_moved(lease, group); });
        },
        [&](std::uint32_t) { answers = false; });
    if (answers) {
      return;
    }
  }
}

void QueryExecution::stop_if_asked() const {
  if (query_.stop && query_.stop()) {
    throw Error(ErrorCode::interrupted, "interrupted before everything was found");
  }
}

std::vector<shard::IndexEntry> QueryExecution::next_batch() {
  std::vector<shard::IndexEntry> batch;
  bool more = true;
  while (batch.empty() && more) {
    if (std::any_of(streams_.begin(), streams_.end(), [](const ShardRows& stream) { return stream.needs_more(); })) {
      read_more();
    }
    more = merge(batch);
  }
  batch_size_ = std::min(ShardRows::largest_chunk, batch_size_ * 2);
  return batch;
}

bool QueryExecution::merge(std::vector<shard::IndexEntry>& batch) {
  const auto is_later = [&](const ShardRows* left, const ShardRows* right) {
    return plan_.before(*right->head(), *left->head());
  };
  std::vector<ShardRows*> heap;
  for (ShardRows& stream : streams_) {
    if (stream.head()) {
      heap.push_back(&stream);
    }
  }
  std::make_heap(heap.begin(), heap.end(), is_later);
  while (!heap.empty() && batch.size() < batch_size_) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    ShardRows& first = *heap.back();
    take(first, batch);
    if (first.needs_more()) {
      return true;
    }
    if (first.head()) {
      std::push_heap(heap.begin(), heap.end(), is_later);
    } else {
      heap.pop_back();
    }
  }
  return !heap.empty();
}

// If a row is on two shards, one of them is the wrong one, and the row counts once.
void QueryExecution::take(ShardRows& from, std::vector<shard::IndexEntry>& batch) {
  shard::IndexEntry entry = from.take();
  if (entry == last_taken_) {
    ++report_.filtered_stale;
    return;
  }
  last_taken_ = entry;
  if (!skips(entry)) {
    batch.push_back(std::move(entry));
  }
}

void QueryExecution::read_more() {
  stop_if_asked();
  std::map<std::uint32_t, ShardRows*> on_shard;
  std::vector<std::uint32_t> low;
  const std::size_t share = share_of(ShardRows::largest_chunk, streams_.size());
  for (ShardRows& stream : streams_) {
    if (stream.needs_more() || stream.is_low(share)) {
      on_shard.emplace(stream.shard(), &stream);
      low.push_back(stream.shard());
    }
  }
  // If few shards are low, they give more. But that adds up: each of many shards may be the only low one once.
  const std::size_t most =
      std::min(share_of(ShardRows::largest_chunk, low.size()), std::max(ShardRows::first_chunk, 4 * share));
  const base::Deadline deadline = shards_.deadline(purpose_of(query_));
  for_groups(
      low,
      [&](std::span<const std::uint32_t> group) {
        std::vector<ShardRows*> streams;
        for (const std::uint32_t shard : group) {
          streams.push_back(on_shard.at(shard));
        }
        statements_ += reader_.read(streams, most, deadline);
      },
      [&](std::uint32_t shard) { on_shard.at(shard)->end(); });
}

void QueryExecution::for_groups(std::span<const std::uint32_t> some,
                                const std::function<void(std::span<const std::uint32_t>)>& work,
                                const std::function<void(std::uint32_t)>& on_down) {
  std::vector<std::uint32_t> living;
  for (const std::uint32_t shard : some) {
    if (unavailable_.record_miss(shard)) {
      on_down(shard);
    } else {
      living.push_back(shard);
    }
  }
  shard::for_groups(shards_, living, [&](std::span<const std::uint32_t> group) {
    try {
      work(group);
    } catch (const Error& error) {
      if (!query_.partial || error.code() != ErrorCode::unavailable ||
          (group.size() > 1 && shard::may_be_one_shards(error))) {
        throw;
      }
      for (const std::uint32_t shard : group) {
        unavailable_.add(shard, server::error_of_shard(shards_.cluster(), shard, error));
        on_down(shard);
      }
    }
  });
}

bool QueryExecution::give(const std::vector<shard::IndexEntry>& entries) {
  const Step step(steps::query_read_entities, 0);
  std::vector<Uuid> ids;
  for (const auto& entry : entries) {
    ids.push_back(entry.entity_id);
  }
  BatchMatches matches(entries, plan_, filter_);
  std::size_t at = 0;
  bool more = true;
  get_each(shards_, ids,
           [&](const GetResult& result) {
             report_.entities_read += matches.is_first(at) ? 1 : 0;
             more = give_moved(&entries[at]) &&  // which may have given this entity
                    (skips(entries[at]) || give_or_leave_out(entries[at], result, matches, at));
             return more;
           },
           unavailable_, query_.partial ? Wanted::part : Wanted::all,
           {.text = [&](const Uuid& id, const std::string& text) { matches.add(id, text); },
            .skip =
                [&](std::size_t entry) {
                  at = entry;
                  if (skips(entries[entry])) {  // an earlier entry of this batch has decided it
                    return true;
                  }
                  const bool is_stale = matches.is_known_to_be_stale(entry);
                  report_.filtered_stale += is_stale ? 1 : 0;
                  return is_stale;
                }});
  return more;
}

bool QueryExecution::give_or_leave_out(const shard::IndexEntry& entry, const GetResult& result,
                                       const BatchMatches& matches, std::size_t at) {
  std::optional<Match> match;
  try {
    match = matches.of(at, result);
  } catch (const Error& error) {
    return leave_out(entry.entity_id, error);
  }
  return give(entry, result, *match);
}

// Behind a full page, the entity is left to the next page.
bool QueryExecution::leave_out(const Uuid& id, Error error) {
  if (error.code() != ErrorCode::corrupt) {
    throw error;
  }
  error.with("id", to_string(id));
  if (!query_.on_unreadable) {
    throw error.with_hint(error.hint() + ", or give `--skip-unreadable` to leave such entities out");
  }
  if (query_.limit > 0 && report_.entities == query_.limit) {
    report_.next = make_token(index_.definition, query_, *last_given_);
    return false;
  }
  decided_.add(id, true);
  ++report_.unreadable;
  query_.on_unreadable(error);
  return true;
}

bool QueryExecution::give(const shard::IndexEntry& entry, const GetResult& result, const Match& match) {
  report_.filtered_stale += match.kind == Match::Kind::stale ? 1 : 0;
  report_.filtered_repeats += match.kind == Match::Kind::repeat ? 1 : 0;
  report_.filtered_where += match.kind == Match::Kind::filtered ? 1 : 0;
  if (match.kind == Match::Kind::wanted) {
    return give(entry, *result.entity);
  }
  if (match.elsewhere) {
    return give_elsewhere({*match.elsewhere, entry.entity_id}, *result.entity, &entry);
  }
  decided_.add(entry.entity_id, match.kind == Match::Kind::filtered);
  return true;
}

// Before the last entity of a page, there still is room for what was missed.
bool QueryExecution::give(const shard::IndexEntry& place, const Entity& entity) {
  decided_.add(entity.id, true);
  if (query_.limit > 0 && report_.entities + 1 == query_.limit && !looked_again_ && !look_again(place)) {
    return false;
  }
  if (query_.limit > 0 && report_.entities == query_.limit) {
    report_.next = make_token(index_.definition, query_, *last_given_);
    return false;
  }
  ++report_.entities;
  if (!last_given_ || plan_.before(*last_given_, place)) {
    last_given_ = place;
  }
  if (!on_entity_(entity)) {
    report_.next = make_token(index_.definition, query_, *last_given_);
    return false;
  }
  return true;
}

bool QueryExecution::give_elsewhere(shard::IndexEntry place, const Entity& entity, const shard::IndexEntry* position) {
  if (position && plan_.before(*position, place)) {
    if (moved_.size() < most_remembered) {
      moved_.insert(std::move(place));
    }
    return true;
  }
  const bool was_passed = !position || plan_.before(place, *position);
  if ((decided_.forgot() && was_passed) ||
      (after_ && !plan_.before(*after_, place))) {  // given before, or on an earlier page
    decided_.add(entity.id, true);
    return true;
  }
  return give(place, entity);
}

bool QueryExecution::give_moved(const shard::IndexEntry* position) {
  std::vector<Uuid> ids;
  while (!moved_.empty() && (!position || plan_.before(*moved_.begin(), *position))) {
    ids.push_back(moved_.begin()->entity_id);
    moved_.erase(moved_.begin());
  }
  return read_late(ids, [&](shard::IndexEntry place, const Entity& entity) {
    return give_elsewhere(std::move(place), entity, position);
  });
}

bool QueryExecution::read_late(const std::vector<Uuid>& ids,
                               const std::function<bool(shard::IndexEntry, const Entity&)>& on_match) {
  if (std::all_of(ids.begin(), ids.end(), [&](const Uuid& id) { return decided_.contains(id); })) {
    return true;
  }
  const Step step(steps::query_read_entities, 0);
  bool more = true;
  get_each(shards_, ids,
           [&](const GetResult& result) {
             stop_if_asked();
             std::optional<model::Row> place;
             try {
               place = place_of(result);
             } catch (const Error& error) {
               more = leave_out(result.id, error);
               return more;
             }
             ++report_.entities_read;
             if (place) {
               more = on_match({*std::move(place), result.id}, *result.entity);
               return more;
             }
             decided_.add(result.id, false);
             return true;
           },
           unavailable_, query_.partial ? Wanted::part : Wanted::all,
           {.text = {}, .skip = [&](std::size_t at) { return decided_.contains(ids[at]); }});
  return more;
}

std::optional<model::Row> QueryExecution::place_of(const GetResult& result) const {
  if (result.error) {
    throw *result.error;
  }
  if (!result.entity) {
    return std::nullopt;
  }
  const EntityMatcher matcher(plan_, filter_, result.id, result.entity->json);
  const model::Row* const place = matcher.place();
  return place ? std::optional(*place) : std::nullopt;
}

bool QueryExecution::skips(const shard::IndexEntry& entry) {
  const std::optional<bool> calls_for_rows = decided_.calls_for_rows(entry.entity_id);
  if (!calls_for_rows) {
    return false;
  }
  ++(*calls_for_rows && several_rows_ ? report_.filtered_repeats : report_.filtered_stale);
  return true;
}

}  // namespace looseleaf::read

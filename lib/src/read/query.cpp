// Runs queries. It reads index rows from one shard, or merges those of all shards in one order. Then it reads the
// entities, which decide whether a row counts.
#include "read/query.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "model/entity.hpp"
#include "model/filter.hpp"
#include "read/get.hpp"
#include "read/page_token.hpp"
#include "read/query_plan.hpp"
#include "read/shard_rows.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/steps.hpp"
#include "shard/writable.hpp"

namespace looseleaf::read {
namespace {

using shard::Step;
namespace steps = shard::steps;

shard::Purpose purpose_of(const Query& query) {
  return query.partial ? shard::Purpose::fail_fast : shard::Purpose::general;
}

constexpr std::size_t most_remembered = 65'536;  // ids; they take about 6 MiB

class QueryExecution {
 public:
  QueryExecution(shard::Shards& shards, const shard::CatalogIndex& index, const Query& query, Unavailable& unavailable)
      : shards_(shards),
        index_(index),
        query_(query),
        plan_(index.definition, query),
        filter_(query.where),
        unavailable_(unavailable),
        reader_(shards, purpose_of(query), index, plan_),
        several_rows_(std::any_of(index.definition.properties.begin(), index.definition.properties.end(),
                                  [](const Property& property) { return property.each; })) {
    const auto after =
        query.after.empty() ? std::nullopt : std::optional(parse_token(index.definition, query, query.after));
    // The query reads one row more than the limit, to learn whether there is a next page.
    const std::size_t chunk = query.limit == 0 ? ShardRows::first_chunk
                                               : std::min<std::uint64_t>(query.limit, ShardRows::largest_chunk - 1) + 1;
    batch_size_ = chunk;
    const std::vector<std::uint32_t> wanted = plan_.shards(shards.count());
    for (const std::uint32_t shard : wanted) {
      if (!unavailable.record_miss(shard)) {
        streams_.emplace_back(shard, after, share_of(chunk, wanted.size()));
      }
    }
  }

  QueryReport run(const std::function<bool(const Entity&)>& on_entity) {
    while (true) {
      stop_if_asked();
      const std::vector<shard::IndexEntry> entries = next_batch();
      if (entries.empty() || !give(entries, on_entity)) {
        break;
      }
    }
    for (const ShardRows& stream : streams_) {
      QueryReport::Shard shard = stream.report();
      report_.index_rows += shard.index_rows;
      if (!shard.sql.empty()) {
        report_.shards.push_back(std::move(shard));
      }
    }
    for (const auto& [shard, error] : unavailable_.missed()) {
      report_.unavailable.emplace_back(shard, error);
    }
    return std::move(report_);
  }

 private:
  void stop_if_asked() const {
    if (query_.stop && query_.stop()) {
      throw Error(ErrorCode::interrupted, "interrupted before everything was found");
    }
  }

  // Matches the entries of one entity against the query. Throws Error if the entity's text cannot be parsed.
  class EntityMatcher {
   public:
    EntityMatcher(const QueryExecution& execution, const std::string& text)
        : execution_(execution), entity_(text), matching_(execution.plan_.matching_rows(entity_)) {}

    Match operator()(const shard::IndexEntry& entry) const {
      const Match match = execution_.plan_.match(entry, matching_);
      return match == Match::wanted && !execution_.filter_.matches(entity_) ? Match::filtered : match;
    }

   private:
    const QueryExecution& execution_;
    const model::ParsedEntity entity_;
    const std::vector<model::Row> matching_;
  };

  // Holds the match of each entry of a batch whose entity has been decoded. The threads that read the entities fill it
  // in.
  class BatchMatches {
   public:
    BatchMatches(const std::vector<shard::IndexEntry>& entries, const QueryExecution& execution)
        : entries_(entries), execution_(execution), matches_(entries.size()) {
      for (std::size_t i = 0; i < entries.size(); ++i) {
        by_id_.emplace_back(entries[i].entity_id, i);
      }
      std::sort(by_id_.begin(), by_id_.end());
    }

    // Sets the matches of the entity's entries by its current text. They replace matches by an older text.
    void add(const Uuid& id, const std::string& text) {
      const auto of_entity = entries_of(id);
      for (const auto& [_, entry] : of_entity) {
        matches_[entry].reset();
      }
      try {
        const EntityMatcher matcher(execution_, text);
        for (const auto& [_, entry] : of_entity) {
          matches_[entry] = matcher(entries_[entry]);
        }
      } catch (const Error&) {  // of() parses the text again and throws the error
      }
    }

    // True if the entity was read for an earlier entry, and this entry is known to be stale from that.
    [[nodiscard]] bool is_known_to_be_stale(std::size_t entry) const {
      return !is_first(entry) && matches_[entry] == Match::stale;
    }
    [[nodiscard]] bool is_first(std::size_t entry) const {
      return entries_of(entries_[entry].entity_id).front().second == entry;
    }

    [[nodiscard]] Match of(std::size_t entry, const GetResult& result) const {
      if (result.error) {
        throw *result.error;
      }
      if (!result.entity) {
        return Match::stale;
      }
      const auto& known = matches_[entry];
      return known ? *known : EntityMatcher(execution_, result.entity->json)(entries_[entry]);
    }

   private:
    [[nodiscard]] std::span<const std::pair<Uuid, std::size_t>> entries_of(const Uuid& id) const {
      const auto [first, last] = std::equal_range(by_id_.begin(), by_id_.end(), std::pair(id, std::size_t{0}),
                                                  [](const auto& a, const auto& b) { return a.first < b.first; });
      return {first, last};
    }

    const std::vector<shard::IndexEntry>& entries_;
    const QueryExecution& execution_;
    std::vector<std::pair<Uuid, std::size_t>> by_id_;  // the position of each entry, sorted by entity
    std::vector<std::optional<Match>> matches_;
  };

  // Merges the shards' rows into the next batch. An empty batch means that no rows are left.
  std::vector<shard::IndexEntry> next_batch() {
    std::vector<shard::IndexEntry> batch;
    while (batch.size() < batch_size_) {
      if (std::any_of(streams_.begin(), streams_.end(), [](const ShardRows& stream) { return stream.needs_more(); })) {
        if (!batch.empty()) {
          break;  // gives the rows that are there before it waits for more
        }
        read_more();
      }
      ShardRows* first = nullptr;
      for (ShardRows& stream : streams_) {
        if (stream.head() && (!first || plan_.before(*stream.head(), *first->head()))) {
          first = &stream;
        }
      }
      if (!first) {
        break;
      }
      take(*first, batch);
    }
    batch_size_ = std::min(ShardRows::largest_chunk, batch_size_ * 2);
    return batch;
  }

  // If a row is on two shards, one of them is the wrong one, and the row counts once.
  void take(ShardRows& from, std::vector<shard::IndexEntry>& batch) {
    shard::IndexEntry entry = from.take();
    if (entry == last_taken_) {
      ++report_.filtered_stale;
      return;
    }
    last_taken_ = entry;
    if (remembered_.contains(entry.entity_id)) {
      ++report_.filtered_repeats;
      return;
    }
    batch.push_back(std::move(entry));
  }

  // Returns how many rows one of several shards should contribute to a chunk: twice its share, and a few more. Then
  // even the rows of a small chunk, which are not spread evenly, seldom need a second read.
  static std::size_t share_of(std::size_t chunk, std::size_t shards) {
    constexpr std::size_t few = 3;
    return std::min(chunk, 2 * chunk / shards + few);
  }

  void read_more() {
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
    const std::size_t most = share_of(ShardRows::largest_chunk, low.size());
    const base::Deadline deadline = shards_.deadline();
    shard::for_groups(shards_, low, [&](std::span<const std::uint32_t> group) {
      std::vector<ShardRows*> streams;
      for (const std::uint32_t shard : group) {
        streams.push_back(on_shard.at(shard));
      }
      try {
        reader_.read(streams, most, deadline);
      } catch (const Error& error) {
        if (!query_.partial || error.code() != ErrorCode::unavailable ||
            (group.size() > 1 && shard::may_be_one_shards(error))) {
          throw;
        }
        for (ShardRows* stream : streams) {
          unavailable_.add(stream->shard(), error);
          stream->end();
        }
      }
    });
  }

  // Returns false when the caller wants no more entities.
  bool give(const std::vector<shard::IndexEntry>& entries, const std::function<bool(const Entity&)>& on_entity) {
    const Step step(steps::query_read_entities, 0);
    std::vector<Uuid> ids;
    for (const auto& entry : entries) {
      ids.push_back(entry.entity_id);
    }
    BatchMatches matches(entries, *this);
    std::size_t at = 0;
    bool more = true;
    get_each(shards_, ids,
             [&](const GetResult& result) {
               report_.entities_read += matches.is_first(at) ? 1 : 0;
               more = give(entries[at], result, matches.of(at, result), on_entity);
               return more;
             },
             unavailable_, query_.partial ? Wanted::part : Wanted::all,
             {.text = [&](const Uuid& id, const std::string& text) { matches.add(id, text); },
              .skip =
                  [&](std::size_t entry) {
                    at = entry;
                    return skips(entry, entries[entry], matches);
                  }});
    return more;
  }

  // Returns true if the entry can be skipped without its entity. `number` is its position in the batch.
  bool skips(std::size_t number, const shard::IndexEntry& entry, const BatchMatches& matches) {
    if (remembered_.contains(entry.entity_id)) {  // an earlier entry of this batch was given
      ++report_.filtered_repeats;
      return true;
    }
    if (matches.is_known_to_be_stale(number)) {
      ++report_.filtered_stale;
      return true;
    }
    return false;
  }

  bool give(const shard::IndexEntry& entry, const GetResult& result, Match match,
            const std::function<bool(const Entity&)>& on_entity) {
    if (several_rows_ && match != Match::stale) {
      remember(entry.entity_id);
    }
    switch (match) {
      case Match::stale:
        ++report_.filtered_stale;
        return true;
      case Match::repeat:
        ++report_.filtered_repeats;
        return true;
      case Match::filtered:
        ++report_.filtered_where;
        return true;
      case Match::wanted:
        break;
    }
    if (query_.limit > 0 && report_.entities == query_.limit) {
      report_.next = make_token(index_.definition, query_, *last_given_);
      return false;
    }
    ++report_.entities;
    last_given_ = entry;
    if (!on_entity(*result.entity)) {
      report_.next = make_token(index_.definition, query_, entry);
      return false;
    }
    return true;
  }

  // Remembers an entity, so that its later rows are skipped as repeats. If an entity is forgotten, its later rows are
  // read, and match() finds that they are repeats.
  void remember(const Uuid& id) {
    if (remembered_.size() == most_remembered) {
      remembered_.clear();
    }
    remembered_.insert(id);
  }

  shard::Shards& shards_;
  const shard::CatalogIndex& index_;
  const Query& query_;
  const QueryPlan plan_;
  const model::Filter filter_;
  Unavailable& unavailable_;
  const RowReader reader_;
  std::deque<ShardRows> streams_;
  std::size_t batch_size_;
  const bool several_rows_;    // an entity may have several rows
  std::set<Uuid> remembered_;  // with several_rows_: entities that have had a row that is not stale
  std::optional<shard::IndexEntry> last_taken_, last_given_;
  QueryReport report_;
};

std::shared_ptr<const shard::Catalog> catalog_of(shard::Shards& shards, std::uint32_t shard, const Query& query,
                                                 const base::Deadline& deadline) {
  const bool was_cached = shards.catalogs().cached(shard) != nullptr;
  const auto load = [&](const sql::Database& database) {
    auto catalog = was_cached ? nullptr : shards.catalogs().cached(shard);  // a new session has just read it
    if (!catalog) {
      catalog = shards.catalogs().reload(shard, database);
    }
    const shard::CatalogIndex* const index = catalog->find(query.index);
    if (!index || index->state != IndexState::ready) {
      shard::require_still_writable(database);  // a demoted server may have an outdated catalog
    }
    return catalog;
  };
  return shard::with_shard(shards, shard, deadline, load, purpose_of(query));
}

// Returns the shards that are down, with the reason.
Unavailable::Shards find_down(shard::Shards& shards) {
  Unavailable down;
  shard::for_groups(shards, shard::all_shards(shards), [&](std::span<const std::uint32_t> group) {
    try {
      shard::with_group(shards, group, shards.deadline(), shard::Purpose::fail_fast, [](shard::Lease&) {});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) {
        throw;
      }
      for (const std::uint32_t shard : group) {
        down.add(shard, error);
      }
    }
  });
  return down.missed();
}

// Returns a catalog that has the index, or else the last one that could be read. Definitions are the same on every
// shard; ShardRows checks on each shard whether the index is ready. Skips the shards in `down`, and adds those that
// turn out to be down.
std::shared_ptr<const shard::Catalog> catalog_with(shard::Shards& shards, const Query& query,
                                                   Unavailable::Shards& down) {
  const base::Deadline deadline = shards.deadline();
  std::shared_ptr<const shard::Catalog> last;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    if (down.contains(shard)) {
      continue;
    }
    try {
      last = catalog_of(shards, shard, query, deadline);
    } catch (const Error& error) {
      if (!query.partial || error.code() != ErrorCode::unavailable) {
        throw;
      }
      down.emplace(shard, error);
      continue;
    }
    if (last->find(query.index)) {
      return last;
    }
  }
  if (!last) {
    throw down.begin()->second;
  }
  return last;
}

bool serves(const IndexDefinition& definition, const Query& query) {
  try {
    static_cast<void>(QueryPlan(definition, query));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Adds the indexes that can use the conditions to the error.
Error with_alternatives(Error error, const shard::Catalog& catalog, const Query& query) {
  for (const shard::CatalogIndex& other : catalog.indexes) {
    if (other.state == IndexState::ready && other.definition.table != query.index && serves(other.definition, query)) {
      error.with("can use them", other.definition.table);
    }
  }
  return error;
}

// Returns a cached catalog of any shard in which the index is ready; null if there is none.
std::shared_ptr<const shard::Catalog> cached_catalog_with(shard::Shards& shards, const Query& query) {
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    auto catalog = shards.catalogs().cached(shard);
    const shard::CatalogIndex* const index = catalog ? catalog->find(query.index) : nullptr;
    if (index && index->state == IndexState::ready) {
      return catalog;
    }
  }
  return nullptr;
}

// Answers by a cached catalog, which may be outdated: after the rows were read, each shard checks that the index is
// still the same and ready. If it is not, or the index is not in the cache, returns nothing; then the caller has been
// given no entity.
std::optional<QueryReport> query_by_cache(shard::Shards& shards, const Query& query,
                                          const std::function<bool(const Entity&)>& on_entity) {
  const auto catalog = cached_catalog_with(shards, query);
  if (!catalog) {
    return std::nullopt;
  }
  bool given = false;
  try {
    Unavailable unavailable;
    return QueryExecution(shards, *catalog->find(query.index), query, unavailable).run([&](const Entity& entity) {
      given = true;
      return on_entity(entity);
    });
  } catch (const Error& error) {
    if (given || (error.code() != ErrorCode::bad_index && error.code() != ErrorCode::usage)) {
      throw;
    }
    return std::nullopt;
  }
}

}  // namespace

QueryReport query(shard::Shards& shards, const Query& query, const std::function<bool(const Entity&)>& on_entity) {
  if (!query.partial) {  // a partial query first finds out which shards are down
    if (!cached_catalog_with(shards, query)) {
      shards.open_ahead(shard::Purpose::general);
    }
    if (auto report = query_by_cache(shards, query, on_entity)) {
      return *std::move(report);
    }
  }
  Unavailable::Shards down = query.partial ? find_down(shards) : Unavailable::Shards();
  const auto catalog = catalog_with(shards, query, down);
  const shard::CatalogIndex* index = catalog->find(query.index);
  if (!index) {
    throw shard::no_such_index(shards, query.index);
  }
  if (index->state != IndexState::ready) {
    throw not_ready(query.index, index->state);
  }
  try {
    static_cast<void>(QueryPlan(index->definition, query));
  } catch (const Error& error) {
    throw with_alternatives(error, *catalog, query);
  }
  Unavailable unavailable(std::move(down));
  return QueryExecution(shards, *index, query, unavailable).run(on_entity);
}

}  // namespace looseleaf::read

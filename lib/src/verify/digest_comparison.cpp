// Compares all entities with all rows of some indexes.
#include "verify/digest_comparison.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "base/parallel.hpp"
#include "model/indexing.hpp"
#include "scan/entity_scan.hpp"
#include "shard/entity_rows.hpp"
#include "shard/index_rows.hpp"
#include "shard/placed_rows.hpp"
#include "shard/placement.hpp"
#include "shard/row_digest.hpp"
#include "shard/rows_of_entities.hpp"

namespace looseleaf::verify {
namespace {

using Clock = std::chrono::steady_clock;

// Rows of one table in one step. A range is one or two steps of every table.
constexpr std::size_t smallest_step = 5000, largest_step = 25'000;
constexpr std::size_t paced_rows = 250;      // the same with a limited rate
constexpr std::size_t digest_rows = 50'000;  // index rows that one statement digests, unless one table has more
// The target time for counting the rows of one step. Digesting them takes several times as long.
constexpr auto step_time = std::chrono::milliseconds(100);
constexpr std::size_t entry_chunk = 5000;  // index rows that one statement reads
constexpr std::size_t close_batch = 400;   // entities that one batch compares row by row
constexpr std::size_t ranges_at_once = 4;

// Sorts the items and drops duplicates.
template <typename T>
void make_set(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

// A bound between ranges that some table asks for.
struct Bound {
  Uuid id;
  std::size_t table;

  auto operator<=>(const Bound&) const = default;
};

// Chooses as few of these bounds as needed for ranges of at most two steps of every table. Without this, the number of
// ranges would grow with the number of shards, and the number of digests with its square.
std::vector<Uuid> merge_bounds(std::vector<Bound> bounds) {
  std::sort(bounds.begin(), bounds.end());
  std::vector<Uuid> merged;
  std::set<std::size_t> passed;  // tables that have a bound within the current range
  for (const Bound& bound : bounds) {
    if (!passed.insert(bound.table).second) {
      merged.push_back(bound.id);
      passed.clear();
    }
  }
  make_set(merged);
  return merged;
}

// The cells of one range in which digests differ. A row that is missing in a local index belongs to an entity of the
// same shard; otherwise its entity may be on any.
struct RangeDifference {
  std::set<std::size_t> cells;                              // of indexes with shard_on
  std::map<std::uint32_t, std::set<std::size_t>> of_shard;  // cells of local indexes
  std::vector<Uuid> row_ids;                                // entity ids of the rows in these cells

  [[nodiscard]] bool empty() const { return cells.empty() && of_shard.empty(); }
  [[nodiscard]] bool may_concern(std::uint32_t shard) const { return !cells.empty() || of_shard.contains(shard); }
  [[nodiscard]] bool concerns(std::uint32_t shard, std::size_t cell) const {
    const auto local = of_shard.find(shard);
    return cells.contains(cell) || (local != of_shard.end() && local->second.contains(cell));
  }
};

// Returns the smallest id above this one. It is absent if there is none.
std::optional<Uuid> next_id(Uuid id) {
  for (auto byte = id.bytes.rbegin(); byte != id.bytes.rend(); ++byte) {
    if (++*byte != 0) {
      return id;
    }
  }
  return std::nullopt;
}

class DigestComparison {
 public:
  DigestComparison(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes, job::Job& job)
      : shards_(shards), job_(job), catalog_{0, indexes} {
    for (const shard::CatalogIndex& index : indexes) {
      for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
        counts_.rows[{index.definition.table, shard}] = 0;
      }
    }
  }

  DigestGrid make_grid() { return {find_bounds(), catalog_.indexes.size() * shards_.count()}; }

  ComparisonCounts run(const ComparisonVisitor& visitor) {
    job_.progress().begin("verify");
    expect_entities();
    DigestGrid grid = make_grid();
    scan_entities(grid, visitor);
    return run(grid, grid.ranges() - (ends_above_all_ ? 1 : 0), visitor);
  }

  // Compares the first `ranges` ranges.
  ComparisonCounts run(const DigestGrid& grid, std::size_t ranges, const ComparisonVisitor& visitor) {
    job_.progress().begin("compare");
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      job_.progress().expect(shard, ranges * catalog_.indexes.size());
    }
    for (std::size_t from = 0; from < ranges; from += ranges_at_once) {
      compare(grid, from, std::min(from + ranges_at_once, ranges), visitor);
    }
    return std::move(counts_);
  }

 private:
  // Chooses the bounds between ranges of ids. No range may contain too many entities of any shard or too many rows of
  // any table. The last range has none of them.
  std::vector<Uuid> find_bounds() {
    std::vector<Bound> by_entities, by_rows;
    job_.for_each_shard([&](std::uint32_t shard) {
      add_bounds(shard, {}, shard, by_entities,
                 [](const sql::Database& database, const shard::IdRange& range, std::size_t step) {
                   return shard::id_after(database, range, step);
                 });
    });
    std::vector<Uuid> bounds = merge_bounds(std::move(by_entities));
    job_.for_each_shard([&](std::uint32_t shard) {
      for (std::size_t index = 0; index < catalog_.indexes.size(); ++index) {
        for (std::size_t i = 0; i <= bounds.size(); ++i) {
          divide(shard, index, range_between(bounds, i), by_rows);
        }
      }
    });
    const std::vector<Uuid> more = merge_bounds(std::move(by_rows));
    bounds.insert(bounds.end(), more.begin(), more.end());
    make_set(bounds);
    bounds = fit_into_grid(std::move(bounds));
    if (const auto above_all = next_id(find_greatest())) {
      bounds.push_back(*above_all);
      ends_above_all_ = true;
    }
    return bounds;
  }

  // Returns the greatest id that any entity or any row has. Ids that the program makes later are greater.
  Uuid find_greatest() {
    std::optional<Uuid> greatest;
    job_.for_each_shard([&](std::uint32_t shard) {
      job_.checkpoint(shard);
      const auto found = shard::read_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
        auto id = shard::greatest_id(database, "entities", "id");
        for (const shard::CatalogIndex& index : catalog_.indexes) {
          id = std::max(id, shard::greatest_id(database, index.definition.table, "entity_id"));
        }
        return id;
      });
      const std::lock_guard lock(mutex_);
      greatest = std::max(greatest, found);
    });
    return greatest.value_or(Uuid());
  }

  // Drops bounds of which a grid has no room.
  [[nodiscard]] std::vector<Uuid> fit_into_grid(std::vector<Uuid> bounds) const {
    const std::size_t tables = catalog_.indexes.size() * shards_.count();
    const std::size_t each = bounds.size() * tables / DigestGrid::most_cells + 1;  // keeps each so-many-th
    for (std::size_t i = 0; i * each < bounds.size(); ++i) {
      bounds[i] = bounds[i * each];
    }
    bounds.resize((bounds.size() + each - 1) / each);
    return bounds;
  }

  // Adds bounds within a range in which a table has many more rows than there are entities.
  void divide(std::uint32_t shard, std::size_t index, const shard::IdRange& range, std::vector<Bound>& bounds) {
    const IndexDefinition& definition = catalog_.indexes[index].definition;
    job_.checkpoint(shard);  // a large store takes so long here that idle sessions would end
    const std::uint64_t rows = shard::with_shard(
        shards_, shard, shards_.deadline(),
        [&](const sql::Database& database) { return shard::estimate_entries(database, definition, range); });
    if (rows > DigestGrid::many_rows) {
      add_bounds(shard, range, table_of(index, shard), bounds,
                 [&](const sql::Database& database, const shard::IdRange& within, std::size_t step) {
                   return shard::entity_id_after(database, definition, within, step);
                 });
    }
  }

  template <typename IdAfter>
  void add_bounds(std::uint32_t shard, shard::IdRange range, std::size_t table, std::vector<Bound>& bounds,
                  const IdAfter& id_after) {
    for (std::size_t step = smallest_step;;) {
      job_.pace(shard, 0);
      const std::size_t limited = job_.is_paced() ? paced_rows : step;
      const auto turn = job_.turn();
      const auto start = Clock::now();
      range.from = shard::with_shard(shards_, shard, shards_.deadline(),
                                     [&](const sql::Database& database) { return id_after(database, range, limited); });
      if (!range.from) {
        return;
      }
      const auto took = Clock::now() - start;
      step = std::clamp(took > step_time       ? step / 2
                        : took < step_time / 2 ? step * 2
                                               : step,
                        smallest_step, largest_step);
      const std::lock_guard lock(mutex_);
      bounds.push_back({*range.from, table});
    }
  }

  // Every shard has its estimate before the first scan begins, so that the whole does not grow later.
  void expect_entities() {
    job_.for_each_shard([&](std::uint32_t shard) {
      job_.progress().expect(shard,
                             shard::with_shard(shards_, shard, shards_.deadline(), [](const sql::Database& database) {
                               return shard::estimate_rows(database, "entities");
                             }));
      job_.checkpoint(shard);
    });
  }

  [[nodiscard]] std::size_t table_of(std::size_t index, std::uint32_t shard) const {
    return table_number(index, shard, shards_.count());
  }

  void scan_entities(DigestGrid& grid, const ComparisonVisitor& visitor) {
    job_.for_each_shard([&](std::uint32_t shard) {
      scan::EntityScan scan(shards_, shard, job_);
      shard::RowMixer mixer;
      std::vector<IndexingCounts> indexing(catalog_.indexes.size());
      scan.run(
          [&](const Uuid& id, const model::ParsedEntity& entity) {
            const std::size_t place = grid.place_of(id);
            for (std::size_t index = 0; index < catalog_.indexes.size(); ++index) {
              const IndexDefinition& definition = catalog_.indexes[index].definition;
              const std::vector<model::Row> rows = entity.expected_rows(definition);
              model::count_entity(indexing[index], definition, entity, id, rows.size());
              for (const model::Row& row : rows) {
                const auto to = shard::index_shard(definition, row, shard, shards_.count());
                grid.add(table_of(index, to), place, mixer.mix(row, id));
              }
            }
          },
          [&](const Finding& finding) {
            const std::lock_guard lock(mutex_);
            visitor.broken_entity(finding);
          });
      const std::lock_guard lock(mutex_);
      counts_.entities += scan.entities();
      counts_.deleted += scan.deleted();
      for (std::size_t index = 0; index < indexing.size(); ++index) {
        counts_.indexing[catalog_.indexes[index].definition.table].add(indexing[index]);
      }
    });
  }

  // Compares the ranges [from, to) in all index tables.
  void compare(const DigestGrid& grid, std::size_t from, std::size_t to, const ComparisonVisitor& visitor) {
    std::vector<RangeDifference> differences(to - from);
    std::vector<std::vector<shard::RowDigest>> digests;  // by range
    for (std::size_t range = from; range < to; ++range) {
      digests.push_back(digest(grid, range));
    }
    job_.for_each_shard([&](std::uint32_t shard) {
      for (std::size_t range = from; range < to; ++range) {
        for (std::size_t index = 0; index < catalog_.indexes.size(); ++index) {
          compare_table(grid, range, index, shard, digests[range - from], differences[range - from]);
        }
      }
    });
    for (std::size_t range = from; range < to; ++range) {
      compare_rows(ids_in_question(grid, range, differences[range - from]), visitor);
    }
  }

  // Returns the digests of a range, by table, where servers can digest its rows.
  std::vector<shard::RowDigest> digest(const DigestGrid& grid, std::size_t range) {
    std::vector<shard::RowDigest> digests(catalog_.indexes.size() * shards_.count());
    for (std::size_t index = 0; index < catalog_.indexes.size(); ++index) {
      const IndexDefinition& definition = catalog_.indexes[index].definition;
      if (!shard::servers_can_digest(definition)) {
        continue;
      }
      std::uint64_t expected = 0;
      for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
        expected += grid.whole(table_of(index, shard), range).rows;
      }
      const std::uint64_t at_once = digest_rows * shards_.count() / std::max<std::uint64_t>(1, expected);
      shard::for_groups(
          shards_, shard::all_shards(shards_),
          [&](std::span<const std::uint32_t> group) {
            const auto found = digest(definition, group, grid.range(range));
            for (std::size_t i = 0; i < group.size(); ++i) {
              digests[table_of(index, group[i])] = found[i];
              job_.pace(group[i], found[i].rows);
            }
          },
          job_.is_paced() ? 1 : std::clamp<std::uint64_t>(at_once, 1, shard::shards_at_once));
    }
    return digests;
  }

  std::vector<shard::RowDigest> digest(const IndexDefinition& definition, std::span<const std::uint32_t> group,
                                       const shard::IdRange& range) {
    job_.checkpoint(group.front());
    const auto turn = job_.turn();
    return shard::read_group(shards_, group, shards_.deadline(), shard::Purpose::general, [&](shard::Lease& lease) {
      return shard::digest_entries(lease, group, definition, range);
    });
  }

  void compare_table(const DigestGrid& grid, std::size_t range, std::size_t index, std::uint32_t shard,
                     const std::vector<shard::RowDigest>& digests, RangeDifference& difference) {
    const IndexDefinition& definition = catalog_.indexes[index].definition;
    const std::size_t table = table_of(index, shard);
    const bool digested = shard::servers_can_digest(definition);
    std::uint64_t rows = digests[table].rows;
    if (!digested || digests[table] != grid.whole(table, range)) {
      rows = compare_cells(grid, range, index, shard, difference);
    }
    {
      const std::lock_guard lock(mutex_);
      counts_.rows[{definition.table, shard}] += rows;
    }
    job_.progress().advance(shard, 1);
    job_.pace(shard, digested ? 0 : rows);
  }

  // Reads the rows of a range and notes the cells that differ. Returns the number of rows.
  std::uint64_t compare_cells(const DigestGrid& grid, std::size_t range, std::size_t index, std::uint32_t shard,
                              RangeDifference& difference) {
    const IndexDefinition& definition = catalog_.indexes[index].definition;
    std::vector<shard::RowDigest> cells(grid.cells());
    std::vector<Uuid> ids;
    std::uint64_t count = 0;
    shard::RowMixer mixer;
    std::optional<shard::IndexEntry> last;
    for (std::size_t got = entry_chunk; got == entry_chunk;) {
      const auto entries = shard::read_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
        return shard::read_entries_in(database, definition, grid.range(range), last, entry_chunk);
      });
      for (const shard::IndexEntry& entry : entries) {
        shard::RowDigest& cell = cells[grid.cell_of(entry.entity_id)];
        ++cell.rows;
        cell.mix ^= mixer.mix(entry.values, entry.entity_id);
        if (ids.empty() || ids.back() != entry.entity_id) {
          ids.push_back(entry.entity_id);
        }
      }
      got = entries.size();
      count += got;
      last = entries.empty() ? std::nullopt : std::optional(entries.back());
      job_.checkpoint(shard);
    }
    std::set<std::size_t> differing;
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      if (cells[cell] != grid.cell(table_of(index, shard), range, cell)) {
        differing.insert(cell);
      }
    }
    std::erase_if(ids, [&](const Uuid& id) { return !differing.contains(grid.cell_of(id)); });
    const std::lock_guard lock(mutex_);
    if (definition.shard_on) {
      difference.cells.merge(differing);
    } else if (!differing.empty()) {
      difference.of_shard[shard].merge(differing);
    }
    difference.row_ids.insert(difference.row_ids.end(), ids.begin(), ids.end());
    return count;
  }

  // Returns the ids of the rows and entities in the cells that differ.
  std::vector<Uuid> ids_in_question(const DigestGrid& grid, std::size_t range, RangeDifference& difference) {
    if (difference.empty()) {  // so it is with nearly all ranges
      return {};
    }
    std::vector<Uuid> ids = std::move(difference.row_ids);
    job_.for_each_shard([&](std::uint32_t shard) {
      if (!difference.may_concern(shard)) {
        return;
      }
      auto found = shard::read_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
        return shard::read_ids(database, grid.range(range));
      });
      std::erase_if(found, [&](const Uuid& id) { return !difference.concerns(shard, grid.cell_of(id)); });
      const std::lock_guard lock(mutex_);
      ids.insert(ids.end(), found.begin(), found.end());
    });
    make_set(ids);
    return ids;
  }

  // Compares both sides of these entities row by row.
  void compare_rows(const std::vector<Uuid>& ids, const ComparisonVisitor& visitor) {
    counts_.compared_by_row += ids.size();
    shard::in_batches(ids, close_batch, [&](std::span<const Uuid> batch) {
      job_.pace(shard::shard_of(batch.front(), shards_.count()), batch.size());
      const base::Deadline deadline = shards_.deadline();
      const auto suspects = sql::with_retries(deadline, [&] { return differing(batch, deadline); });
      if (!suspects.empty()) {
        visitor.suspects(suspects);
      }
    });
  }

  std::vector<Uuid> differing(std::span<const Uuid> ids, const base::Deadline& deadline) {
    const std::vector<shard::PlacedRow> expected = expected_rows(ids);
    const std::vector<shard::PlacedRow> actual =
        shard::read_index_rows(shards_, shard::connect_all(shards_, deadline), catalog_, ids);
    std::vector<shard::PlacedRow> different;
    std::set_symmetric_difference(expected.begin(), expected.end(), actual.begin(), actual.end(),
                                  std::back_inserter(different));
    std::vector<Uuid> suspects;
    for (const shard::PlacedRow& row : different) {
      suspects.push_back(row.entry.entity_id);
    }
    make_set(suspects);
    return suspects;
  }

  std::vector<shard::PlacedRow> expected_rows(std::span<const Uuid> ids) {
    const shard::IdsByShard by_shard = shard::ids_by_shard(ids, shards_.count());
    std::vector<std::uint32_t> needed;
    for (const auto& [shard, some] : by_shard) {
      needed.push_back(shard);
    }
    std::mutex mutex;
    std::vector<shard::PlacedRow> rows;
    shard::for_groups(shards_, needed, [&](std::span<const std::uint32_t> group) {
      auto found = expected_rows(group, by_shard);
      const std::lock_guard lock(mutex);
      std::move(found.begin(), found.end(), std::back_inserter(rows));
    });
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  std::vector<shard::PlacedRow> expected_rows(std::span<const std::uint32_t> group, const shard::IdsByShard& ids) {
    auto bodies =
        shard::with_group(shards_, group, shards_.deadline(), shard::Purpose::general, [&](shard::Lease& lease) {
          return shard::read_bodies(shards_, lease, group, ids, scan::small_body, shard::Moved::read);
        });
    std::vector<shard::PlacedRow> rows;
    for (shard::EntityRow& entity : bodies) {
      const std::uint32_t shard = shard::shard_of(entity.id, shards_.count());
      if (entity.lacks_body()) {
        entity.body = scan::read_body(shards_, shard, entity.id);
      }
      if (const auto found = scan::judge_entity(shards_.count(), shard, entity.id, entity.body); found.entity) {
        auto placed = shard::placed_rows(catalog_, entity.id, &*found.entity, shard, shards_.count());
        std::move(placed.begin(), placed.end(), std::back_inserter(rows));
        shard::require_few(rows.size(), bodies.size());
      }
      entity.body.reset();
    }
    return rows;
  }

  shard::Shards& shards_;
  job::Job& job_;
  const shard::Catalog catalog_;  // of the indexes that are compared
  bool ends_above_all_ = false;   // the last range of the grid is above every id that existed when it was made
  std::mutex mutex_;  // guards the members below, and calls of the visitor while several shards are read at once
  ComparisonCounts counts_;
};

}  // namespace

DigestGrid make_grid(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes, job::Job& job) {
  return DigestComparison(shards, indexes, job).make_grid();
}

ComparisonCounts compare_digests(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes, job::Job& job,
                                 const ComparisonVisitor& visitor, const DigestGrid* scanned) {
  DigestComparison comparison(shards, indexes, job);
  return scanned != nullptr ? comparison.run(*scanned, scanned->ranges(), visitor) : comparison.run(visitor);
}

}  // namespace looseleaf::verify

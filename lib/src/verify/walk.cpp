// Compares all entities with all rows of some indexes.
#include "verify/walk.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <mutex>
#include <set>

#include "base/parallel.hpp"
#include "scan/entity_scan.hpp"
#include "shard/entity_rows.hpp"
#include "shard/index_rows.hpp"
#include "shard/placed_rows.hpp"
#include "shard/placement.hpp"
#include "shard/row_digest.hpp"

namespace looseleaf::verify {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t smallest_step = 5000, largest_step = 100'000;  // rows of one table in a range
constexpr std::size_t paced_rows = 500;                              // the same with a limited rate
constexpr auto step_time = std::chrono::milliseconds(100);  // to count so many; digesting takes some times that
constexpr std::size_t entry_chunk = 5000;                   // index rows read at once
constexpr std::size_t close_batch = 400;                    // entities compared at once, row by row
constexpr std::size_t ranges_at_once = 4;

// In ascending order and distinct.
template <typename T>
void make_set(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

// What does not agree in one range.
struct RangeDifference {
  std::set<std::size_t> cells;
  std::vector<Uuid> row_ids;  // of rows in these cells
};

class Walk {
 public:
  Walk(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes, job::Throttling& throttling,
       const WalkVisitor& visitor)
      : shards_(shards), throttling_(throttling), visitor_(visitor), catalog_{0, indexes} {
    for (const shard::CatalogIndex& index : indexes) {
      for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
        counts_.rows[{index.definition.table, shard}] = 0;
      }
    }
  }

  DigestGrid make_grid() { return {find_bounds(), catalog_.indexes.size() * shards_.count()}; }

  WalkCounts run() {
    DigestGrid grid = make_grid();
    scan_entities(grid);
    return run(grid);
  }

  WalkCounts run(const DigestGrid& grid) {
    estimate_rows();
    for (std::size_t from = 0; from < grid.ranges(); from += ranges_at_once) {
      compare(grid, from, std::min(from + ranges_at_once, grid.ranges()));
    }
    return std::move(counts_);
  }

 private:
  // Runs `work` for every shard at once. When one fails the others end at their next progress().
  template <typename Work>
  void on_all_shards(const Work& work) {
    std::exception_ptr first;
    std::vector<std::function<void()>> tasks;
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      tasks.emplace_back([&, shard] {
        try {
          work(shard);
        } catch (...) {
          const std::lock_guard lock(mutex_);
          failed_ = true;
          first = first ? first : std::current_exception();
        }
      });
    }
    base::run_all(tasks);
    if (first) {
      std::rethrow_exception(first);
    }
  }

  void progress(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    if (failed_) {
      throw Error(ErrorCode::interrupted, "another shard failed");  // which is what the caller gets to see
    }
    visitor_.progress(progress);
  }

  // Where the ranges of ids meet: so that none has too many entities of any shard, or rows of any table.
  std::vector<Uuid> find_bounds() {
    std::vector<Uuid> bounds;
    on_all_shards([&](std::uint32_t shard) {
      const std::uint64_t rows = shard::with_shard(shards_, shard, shards_.deadline(), [](sql::Connection& connection) {
        return shard::estimate_rows(connection, "entities");
      });
      add_bounds(shard, {}, rows, bounds,
                 [](sql::Connection& connection, const shard::IdRange& range, std::size_t step) {
                   return shard::id_after(connection, range, step);
                 });
    });
    make_set(bounds);
    std::vector<Uuid> more;
    on_all_shards([&](std::uint32_t shard) {
      for (const shard::CatalogIndex& index : catalog_.indexes) {
        for (std::size_t i = 0; i <= bounds.size(); ++i) {
          divide(shard, index.definition, range_between(bounds, i), more);
        }
      }
    });
    bounds.insert(bounds.end(), more.begin(), more.end());
    make_set(bounds);
    return bounds;
  }

  // Adds bounds within a range in which a table has many more rows than there are entities.
  void divide(std::uint32_t shard, const IndexDefinition& definition, const shard::IdRange& range,
              std::vector<Uuid>& bounds) {
    show_begun(shard);
    const std::uint64_t rows = shard::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
      return shard::estimate_entries(connection, definition, range);
    });
    if (rows > DigestGrid::many_rows) {
      add_bounds(shard, range, rows, bounds,
                 [&](sql::Connection& connection, const shard::IdRange& within, std::size_t step) {
                   return shard::entity_id_after(connection, definition, within, step);
                 });
    }
  }

  // `rows`: about how many there are.
  template <typename IdAfter>
  void add_bounds(std::uint32_t shard, shard::IdRange range, std::uint64_t rows, std::vector<Uuid>& bounds,
                  const IdAfter& id_after) {
    const std::size_t paced = paced_step(rows);
    for (std::size_t step = smallest_step;;) {
      throttling_.wait(0, [&](const std::string& reason) { show_begun(shard, reason); });
      show_begun(shard);
      const std::size_t limited = throttling_.paces() ? paced : step;
      const auto turn = throttling_.turn();
      const auto start = Clock::now();
      range.from = shard::with_shard(shards_, shard, shards_.deadline(),
                                     [&](sql::Connection& connection) { return id_after(connection, range, limited); });
      if (!range.from) {
        return;
      }
      const auto took = Clock::now() - start;
      step = std::clamp(took > step_time       ? step / 2
                        : took < step_time / 2 ? step * 2
                                               : step,
                        smallest_step, largest_step);
      const std::lock_guard lock(mutex_);
      bounds.push_back(*range.from);
    }
  }

  // With a limited rate few rows of one table are to be in a range, whose ids are spread over all shards; but a grid
  // has room for so many ranges only.
  [[nodiscard]] std::size_t paced_step(std::uint64_t rows) const {
    const std::size_t tables = catalog_.indexes.size() * shards_.count();
    const std::size_t room = std::max<std::size_t>(1, DigestGrid::most_cells / std::max<std::size_t>(1, tables));
    return std::max<std::size_t>(paced_rows * shards_.count(), rows * shards_.count() / room);
  }

  // Until so many rows of index tables may be read.
  void wait(std::uint32_t shard, std::uint64_t rows) {
    throttling_.wait(rows, [&](const std::string& reason) { show_compared(shard, reason); });
  }

  // While the ranges are laid out: on a large store for so long that locks and sessions would end for want of use.
  void show_begun(std::uint32_t shard, const std::string& waiting = {}) { progress({"verify", shard, 0, 0, waiting}); }

  void show_compared(std::uint32_t shard, const std::string& waiting = {}) {
    std::unique_lock lock(mutex_);
    const Compared compared = compared_[shard];
    lock.unlock();
    progress({"compare", shard, compared.rows, compared.estimate, waiting});
  }

  void estimate_rows() {
    on_all_shards([&](std::uint32_t shard) {
      std::uint64_t estimate = 0;
      shard::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
        estimate = 0;
        for (const shard::CatalogIndex& index : catalog_.indexes) {
          estimate += shard::estimate_rows(connection, index.definition.table);
        }
      });
      const std::lock_guard lock(mutex_);
      compared_[shard].estimate = estimate;
    });
  }

  [[nodiscard]] std::size_t table_of(std::size_t index, std::uint32_t shard) const {
    return table_number(index, shard, shards_.count());
  }

  void scan_entities(DigestGrid& grid) {
    on_all_shards([&](std::uint32_t shard) {
      scan::EntityScan scan(shards_, shard, throttling_);
      shard::RowMixer mixer;
      scan.run(
          [&](const Uuid& id, const model::StoredEntity& entity) {
            const std::size_t place = grid.place_of(id);
            for (std::size_t index = 0; index < catalog_.indexes.size(); ++index) {
              const IndexDefinition& definition = catalog_.indexes[index].definition;
              for (const model::Row& row : entity.expected_rows(definition)) {
                const auto to = shard::index_shard(definition, row, shard, shards_.count());
                grid.add(table_of(index, to), place, mixer.mix(row, id));
              }
            }
          },
          [&](const Finding& finding) {
            const std::lock_guard lock(mutex_);
            visitor_.broken_entity(finding);
          },
          [&](const Progress& now) { progress(now); });
      const std::lock_guard lock(mutex_);
      counts_.entities += scan.entities();
    });
  }

  // Some ranges, [from, to), in all index tables.
  void compare(const DigestGrid& grid, std::size_t from, std::size_t to) {
    std::vector<RangeDifference> differences(to - from);
    on_all_shards([&](std::uint32_t shard) {
      for (std::size_t range = from; range < to; ++range) {
        for (std::size_t index = 0; index < catalog_.indexes.size(); ++index) {
          compare_table(grid, range, index, shard, differences[range - from]);
        }
      }
    });
    for (std::size_t range = from; range < to; ++range) {
      look_closely(ids_in_question(grid, range, differences[range - from]));
    }
  }

  void compare_table(const DigestGrid& grid, std::size_t range, std::size_t index, std::uint32_t shard,
                     RangeDifference& difference) {
    const IndexDefinition& definition = catalog_.indexes[index].definition;
    const std::size_t table = table_of(index, shard);
    const shard::RowDigest expected = grid.whole(table, range);
    std::uint64_t rows = 0;
    if (shard::servers_can_digest(definition)) {
      const shard::RowDigest actual = digest(definition, shard, grid.range(range));
      rows = actual.rows;
      if (actual != expected) {
        compare_cells(grid, range, index, shard, difference);
      }
    } else {
      rows = compare_cells(grid, range, index, shard, difference);
    }
    {
      const std::lock_guard lock(mutex_);
      counts_.rows[{definition.table, shard}] += rows;
      compared_[shard].rows += rows;
    }
    wait(shard, rows);
    show_compared(shard);
  }

  shard::RowDigest digest(const IndexDefinition& definition, std::uint32_t shard, const shard::IdRange& range) {
    const auto turn = throttling_.turn();
    return shard::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
      return shard::digest_entries(connection, definition, range);
    });
  }

  // Reads the rows of a range and notes which cells differ. Returns how many rows there are.
  std::uint64_t compare_cells(const DigestGrid& grid, std::size_t range, std::size_t index, std::uint32_t shard,
                              RangeDifference& difference) {
    const IndexDefinition& definition = catalog_.indexes[index].definition;
    std::vector<shard::RowDigest> cells(grid.cells());
    std::vector<Uuid> ids;
    std::uint64_t count = 0;
    shard::RowMixer mixer;
    std::optional<shard::IndexEntry> last;
    for (std::size_t got = entry_chunk; got == entry_chunk;) {
      const auto entries = shard::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
        return shard::read_entries_in(connection, definition, grid.range(range), last, entry_chunk);
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
      show_compared(shard);
    }
    std::set<std::size_t> differing;
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      if (cells[cell] != grid.cell(table_of(index, shard), range, cell)) {
        differing.insert(cell);
      }
    }
    std::erase_if(ids, [&](const Uuid& id) { return !differing.contains(grid.cell_of(id)); });
    const std::lock_guard lock(mutex_);
    difference.cells.merge(differing);
    difference.row_ids.insert(difference.row_ids.end(), ids.begin(), ids.end());
    return count;
  }

  // The ids in cells that differ, of rows and of entities.
  std::vector<Uuid> ids_in_question(const DigestGrid& grid, std::size_t range, RangeDifference& difference) {
    std::vector<Uuid> ids = std::move(difference.row_ids);
    if (!difference.cells.empty()) {
      on_all_shards([&](std::uint32_t shard) {
        auto found = shard::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
          return shard::read_ids(connection, grid.range(range));
        });
        std::erase_if(found, [&](const Uuid& id) { return !difference.cells.contains(grid.cell_of(id)); });
        const std::lock_guard lock(mutex_);
        ids.insert(ids.end(), found.begin(), found.end());
      });
    }
    make_set(ids);
    return ids;
  }

  // Compares both sides of these entities row by row.
  void look_closely(const std::vector<Uuid>& ids) {
    counts_.looked_again += ids.size();
    shard::in_batches(ids, close_batch, [&](std::span<const Uuid> batch) {
      show_compared(0);
      const base::Deadline deadline = shards_.deadline();
      const auto suspects = sql::with_retries(deadline, [&] { return differing(batch, deadline); });
      if (!suspects.empty()) {
        visitor_.suspects(suspects);
      }
    });
  }

  std::vector<Uuid> differing(std::span<const Uuid> ids, const base::Deadline& deadline) {
    const std::vector<shard::PlacedRow> expected = expected_rows(ids);
    const std::vector<shard::PlacedRow> actual =
        shard::read_rows(shards_, shard::connect_all(shards_, deadline), catalog_, ids);
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
    std::vector<std::vector<Uuid>> by_shard(shards_.count());
    for (const Uuid& id : ids) {
      by_shard[shard::shard_of(id, shards_.count())].push_back(id);
    }
    std::vector<shard::PlacedRow> rows;
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      auto bodies = shard::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
        return shard::read_bodies(connection, by_shard[shard], scan::small_body);
      });
      for (shard::EntityBody& entity : bodies) {
        if (!entity.body) {
          entity.body = scan::read_body(shards_, shard, entity.id);
        }
        if (const auto found = scan::judge_entity(shards_.count(), shard, entity.id, entity.body); found.entity) {
          auto placed = shard::placed_rows(catalog_, entity.id, &*found.entity, shard, shards_.count());
          std::move(placed.begin(), placed.end(), std::back_inserter(rows));
        }
        entity.body.reset();
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  shard::Shards& shards_;
  job::Throttling& throttling_;
  const WalkVisitor& visitor_;
  const shard::Catalog catalog_;  // of the indexes walked
  std::mutex mutex_;              // guards what follows, and the visitor while shards are walked at once
  bool failed_ = false;
  WalkCounts counts_;
  struct Compared {
    std::uint64_t rows = 0, estimate = 0;  // of index tables
  };
  std::map<std::uint32_t, Compared> compared_;  // by shard
};

}  // namespace

DigestGrid make_grid(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes,
                     job::Throttling& throttling, const WalkVisitor& visitor) {
  return Walk(shards, indexes, throttling, visitor).make_grid();
}

WalkCounts walk(shard::Shards& shards, const std::vector<shard::CatalogIndex>& indexes, job::Throttling& throttling,
                const WalkVisitor& visitor, const DigestGrid* scanned) {
  Walk walk(shards, indexes, throttling, visitor);
  return scanned != nullptr ? walk.run(*scanned) : walk.run();
}

}  // namespace looseleaf::verify

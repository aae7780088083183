// Options, progress and reports of the long jobs: create-index, drop-index, backfill, verify, clean.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/error.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/indexing.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace looseleaf {

// How far a job is on one shard. A backfill or a verification counts all its phases in one unit of work: reading an
// entity is one, and the other phases have shares of the whole. `done` never decreases relative to `estimate`.
struct Progress {
  std::string_view job;        // "backfill", "verify", ...
  std::uint32_t shard = 0;     // the entity shard that made progress
  std::uint64_t done = 0;      // work done so far, of about `estimate`
  std::uint64_t estimate = 0;  // 0: unknown
  std::string waiting = {};    // why the job is waiting; empty while it works
  // "backfill" (reads entities and writes their rows), "reconcile", "verify", "read" or "compare"
  std::string_view phase = {};
  bool held_back = false;  // true if the job waits because of its Throttle
  bool in_other = false;   // the shard is one of the other store, see Datastore::compare
};

// Limits that slow a long job down or pause it. Zero or empty means no limit.
struct Throttle {
  std::uint64_t max_rate = 0;   // rows read per second, on all shards together
  std::uint64_t max_load = 0;   // the job waits while a server runs more statements at once (Threads_running)
  double max_lag = 0;           // the job waits while a replica in the cluster file is more seconds behind
  std::string pause_file = {};  // the job waits while this file exists
};

// Lets a caller follow and stop a job. A job checks `stop` between chunks. If it is set, the job stores its cursor,
// leaves everything consistent and throws Error(interrupted). A signal handler may set `stop`.
struct JobControl {
  std::atomic<bool> stop{false};
  // Called from any thread of the job, one call at a time.
  std::function<void(const Progress&)> on_progress;
};

enum class IndexState {
  building,  // every put maintains it; it cannot be queried yet
  ready,     // it is complete and can be queried
  dropping,  // it can no longer be queried; every put still maintains it
  dropped,   // it is no longer maintained; its tables are being deleted
};

[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(IndexState state);

struct CreateReport {
  std::string table;
  bool created = false;  // false: the index existed with this definition
  IndexState state = IndexState::building;
};

struct CreatePlan {
  std::string table;
  // Statements on one shard, or a note about some shards.
  struct Step {
    std::vector<std::uint32_t> shards;  // in ascending order
    std::string sql;                    // statements, each with a ';', one below the other; empty for a note
    std::string note;                   // "active, state ready", "will be registered as `building`"; else empty
  };
  std::vector<Step> steps;
};

struct DropOptions {
  bool keep_table = false;  // keep the tables under the name <table>_dropped_<generation>
};

struct DropReport {
  // The names of the tables that were kept: one, or several if shards had different generations of the index. A drop
  // that was interrupted before ends the way it began, whatever DropOptions say now.
  std::vector<std::string> kept;
};

enum class FindingKind {
  missing,          // an expected row is absent
  stale,            // a row that its entity does not call for
  orphan,           // a row whose entity does not exist
  misplaced,        // a row on the wrong shard
  duplicate,        // in an immutable index, a second row of an entity, with values that the entity does not call for
  conflict,         // in a unique index, an expected row that is absent because another entity has the same values
  unreadable,       // an entity's body cannot be decoded
  wrong_id,         // an entity's body has another id than its row
  wrong_shard,      // an entity's row is on the wrong shard
  table_differs,    // an index table does not match its definition
  catalog_differs,  // shards disagree about an index
  definition_differs,  // the active indexes do not match VerifyOptions::definitions
};

[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::missing;
  std::string index;                // empty for findings about entities only
  std::uint32_t shard = 0;          // the shard where the row is or should be
  Uuid entity_id;                   // all zero for table_differs, catalog_differs and definition_differs
  std::string values;               // the row's values as a JSON array; for the other kinds, a sentence
  std::optional<Uuid> holder = {};  // with conflict: the other entity
};

struct BackfillOptions {
  std::vector<std::string> tables;  // empty: all indexes in state `building`
  bool restart = false;             // discard stored cursors and start over
  Throttle throttle = {};
  // The most unreadable entities, and rows of each index that cannot be inserted, to name in the report. All are
  // counted.
  std::uint64_t samples = 20;
};

struct BackfillReport {
  std::vector<std::string> ready;    // the indexes that became ready
  std::uint64_t entities = 0;        // entities read in this run, including tombstones
  std::uint64_t deleted = 0;         // of these, tombstones
  std::uint64_t rows = 0;            // index rows written
  std::uint64_t reconciled = 0;      // entities that changed meanwhile and were checked again
  std::uint64_t unreadable = 0;      // entities whose bodies cannot be read; they are in none of the indexes
  std::vector<Uuid> unreadable_ids;  // at most BackfillOptions::samples
  // The unique indexes that stay `building`, because several entities have the same values: the number of rows that
  // cannot be inserted, and at most BackfillOptions::samples of them.
  struct Conflicts {
    std::uint64_t rows = 0;
    std::vector<Finding> examples;
  };
  std::map<std::string, Conflicts> conflicts;
  // Without BackfillOptions::tables: why an index that is building could not be filled, one for each.
  std::vector<Error> left_out;
  // What was read for each index that was filled, in this run and those that it continued. Entities count as they were
  // when they were read.
  std::map<std::string, IndexingCounts> indexing;
};

struct VerifyOptions {
  // Empty: all indexes that are ready. An index that is `building` is incomplete: it is left out with a warning, or, if
  // it is named, the call throws Error(bad_index).
  std::vector<std::string> tables;
  bool repair = false;
  // A superfluous row is a finding only if it persists this long, because a change in progress can cause it.
  std::uint32_t grace_seconds = 10;
  Throttle throttle = {};
  // If given, verify also checks that the active indexes are exactly these; if `tables` is not empty, only those in it.
  std::optional<std::vector<IndexDefinition>> definitions = {};
  // Compare only catalogs, tables and `definitions`. No entity and no index row is read, so this is quick.
  bool definitions_only = false;
  // Called with each confirmed finding as soon as it is confirmed, one call at a time, from any thread. May throw.
  std::function<void(const Finding&)> on_finding = {};
  // Called in the same way with each finding that was repaired.
  std::function<void(const Finding&)> on_repaired = {};
  // Called once, before the first wait for the grace period, with what is left of it.
  std::function<void(std::chrono::seconds)> on_wait = {};
  // The most findings to keep in the report for each kind, index and shard. All findings are counted.
  std::uint64_t samples = 20;
};

struct VerifyReport {
  struct Count {
    std::uint64_t rows = 0;                         // index rows seen; after a repair, the rows that exist now
    std::map<FindingKind, std::uint64_t> findings;  // confirmed; after a repair, those not repaired
    std::map<FindingKind, std::uint64_t> mended;    // findings that were repaired
  };
  // The indexes whose rows were compared with the entities; with `definitions_only`, those whose catalogs and tables
  // are in order.
  std::vector<std::string> verified;
  // The indexes whose rows were not compared: they are building or being dropped, or their tables or catalogs differ.
  std::vector<std::string> unverified;
  // Per index name and shard. Findings about entities have an empty index name.
  std::map<std::pair<std::string, std::uint32_t>, Count> counts;
  std::map<std::string, IndexingCounts> indexing;  // of each index, as the entities were when they were read
  std::uint64_t entities = 0;                      // entities read, including tombstones
  std::uint64_t deleted = 0;                       // of these, tombstones
  std::uint64_t looked_again = 0;  // entities compared again row by row because the digest of their group differed
  std::uint64_t in_flight = 0;    // of these, entities that still differed, but were correct once their locks were held
  std::uint64_t found = 0;        // confirmed findings; 0 means that everything checked is consistent
  std::uint64_t repaired = 0;     // entities repaired
  std::vector<Finding> findings;  // samples of confirmed findings
  std::vector<Finding> mended;    // samples of repaired findings
};

struct CleanReport {
  std::uint64_t checked = 0;                    // entities
  std::map<FindingKind, std::uint64_t> mended;  // index rows inserted (missing) and deleted (all other kinds)
  std::uint64_t filled = 0;                     // index rows inserted where none had to be: the index is building
  std::uint64_t purged = 0;                     // tombstones
  std::uint64_t flushed = 0;                    // buffered writes that were stored
  std::uint64_t refused = 0;                    // buffered writes that cannot be stored: see Datastore::list_refused
  std::map<int, std::uint64_t> failures;        // number of failed passes by server error number; 0 is any other reason

  [[nodiscard]] std::uint64_t inserted() const { return rows(true) + filled; }
  [[nodiscard]] std::uint64_t deleted() const { return rows(false); }

 private:
  [[nodiscard]] std::uint64_t rows(bool missing) const {
    std::uint64_t sum = 0;
    for (const auto& [kind, count] : mended) {
      sum += (kind == FindingKind::missing) == missing ? count : 0;
    }
    return sum;
  }
};

// Describes a pass over the cleanup records, or a sweep over all entities, when it has ended.
struct CleanPass {
  const CleanReport& report;  // totals of all passes so far
  bool sweep = false;
  const Error* failure = nullptr;          // why it failed; null if it succeeded
  std::vector<std::chrono::seconds> lags;  // per shard: the age of the oldest cleanup record; 0: none
  // Per shard, before the pass, or when the shard answered last.
  struct Buffer {
    std::uint64_t copies = 0;          // of buffered writes, in its database
    std::chrono::seconds oldest = {};  // the age of the oldest copy; 0: none
    std::uint64_t refused = 0;         // refused writes of its entities
  };
  std::vector<Buffer> buffers = {};
  // With `follow`, why tombstones cannot be purged, by shard, also in passes that do not try it again yet. The pass
  // succeeds nevertheless.
  std::vector<Error> purge_failures = {};
};

// Datastore::clean throws Error(usage) if `full_every` is not from 1 second to 366 days, or `keep_tombstones` is
// negative or longer than that.
struct CleanOptions {
  bool full = false;    // sweep over all entities, not only those that cleanup records name
  bool follow = false;  // run until stopped; if another process is cleaning, wait until it ends
  std::chrono::seconds full_every = std::chrono::hours(24);  // time between sweeps, with `full` and `follow`
  // How long tombstones are kept for a trigger that is late. Without one they are kept for a day, and
  // as long as a copy or an unfinished backfill needs them.
  std::chrono::seconds keep_tombstones = std::chrono::hours(7 * 24);
  Throttle throttle = {};                              // applies to passes and to sweeps separately
  std::function<void(const CleanPass&)> on_pass = {};  // called after each pass and each sweep; must not throw
  std::function<void(const Error&)> on_wait = {};      // with `follow`: another process is cleaning
};

}  // namespace looseleaf

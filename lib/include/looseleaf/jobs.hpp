// Options, progress and reports of the long jobs: create-index, drop-index, backfill, verify, clean.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/error.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace looseleaf {

struct Progress {
  std::string_view job;     // "backfill", "verify", ...
  std::uint32_t shard = 0;  // the entity shard that moved on
  std::uint64_t done = 0;   // rows, of
  std::uint64_t estimate = 0;
  std::string waiting = {};  // why nothing is done just now; empty while the job works
};

// What holds a long job back. Zero, or empty: nothing does.
struct Throttle {
  std::uint64_t max_rate = 0;  // rows read a second, on all shards together
  std::uint64_t max_load = 0;  // statements that any server runs at once (its Threads_running)
  double max_lag = 0;          // seconds that any replica named in the cluster file is behind
  std::string pause_file;      // nothing is done while there is a file of this name
};

// How a caller follows and stops a job. A job looks at `stop` between chunks; it then stores its cursor, leaves
// everything consistent and throws Error(interrupted). Setting `stop` is safe in a signal handler.
struct JobControl {
  std::atomic<bool> stop{false};
  // Called from any thread of the job, one call at a time.
  std::function<void(const Progress&)> on_progress;
};

enum class IndexState {
  building,  // maintained by every put, not queried yet
  ready,     // complete
  dropping,  // no longer queried, still maintained
  dropped,   // no longer maintained; its tables are going
};

[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(IndexState state);

struct CreateReport {
  std::string table;
  bool created = false;  // false: the definition was in force already
  IndexState state = IndexState::building;
};

struct CreatePlan {
  std::string table;
  struct Step {
    std::vector<std::uint32_t> shards;  // in ascending order
    std::string sql;                    // ends with ';'; empty if these shards have the table already
    std::string note;                   // "active, state ready", "will be registered as `building`", ...
  };
  std::vector<Step> steps;
};

struct DropOptions {
  bool keep_table = false;  // leave the tables under another name, <table>_dropped_<generation>
};

struct DropReport {
  // The names of the tables that were kept, one unless shards disagreed about the generation. A drop that had been
  // begun ends as it began, whatever was asked for this time.
  std::vector<std::string> kept;
};

struct BackfillOptions {
  std::vector<std::string> tables;  // empty: every index in state building
  bool restart = false;             // forget stored cursors
  Throttle throttle = {};
};

struct BackfillReport {
  std::vector<std::string> ready;  // the indexes that are ready now
  std::uint64_t entities = 0;      // read in this run
  std::uint64_t rows = 0;          // index rows sent
  std::uint64_t reconciled = 0;    // entities that changed meanwhile
};

enum class FindingKind {
  missing,             // an expected row is absent
  stale,               // a row its entity does not call for
  orphan,              // a row whose entity does not exist
  misplaced,           // a row on the wrong shard
  duplicate,           // in an immutable index, a row with other values beside the one that its entity calls for
  unreadable,          // an entity's body cannot be decoded
  wrong_id,            // an entity's body has another id than its row
  wrong_shard,         // an entity's row is on the wrong shard
  table_differs,       // an index table is not as its definition declares
  catalog_differs,     // shards disagree about an index
  definition_differs,  // what is in force is not what VerifyOptions::definitions declare
};

[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::missing;
  std::string index;        // empty for findings about entities alone
  std::uint32_t shard = 0;  // where the row is, or should be
  Uuid entity_id;           // all zero for table_differs, catalog_differs and definition_differs
  std::string values;       // the row's values as a JSON array; or a sentence for the other kinds
};

struct VerifyOptions {
  // Empty: every index that is ready. One that is building is compared only if it is named: it lacks rows by nature.
  std::vector<std::string> tables;
  bool repair = false;
  // How long a row too many may stand beside a healthy change before it is a finding.
  std::uint32_t grace_seconds = 10;
  Throttle throttle = {};
  // Given: that exactly these indexes are in force is verified too; of those in `tables`, unless that is empty.
  std::optional<std::vector<IndexDefinition>> definitions = {};
  // Called with each finding that stands, as soon as that is known, one call at a time, on any thread. May throw.
  std::function<void(const Finding&)> on_finding = {};
  // So many findings of a kind in an index on a shard are kept in the report, the first ones; all are counted.
  std::uint64_t samples = 20;
};

struct VerifyReport {
  struct Count {
    std::uint64_t rows = 0;                         // index rows seen; after a repair: what is left of them, or added
    std::map<FindingKind, std::uint64_t> findings;  // what stands now; after a repair: what could not be mended
    std::map<FindingKind, std::uint64_t> mended;    // by a repair
  };
  std::vector<std::string> verified;  // indexes whose rows were compared with the entities
  // Per index and shard. With an empty index: findings about entities.
  std::map<std::pair<std::string, std::uint32_t>, Count> counts;
  std::uint64_t entities = 0;      // seen, tombstones too
  std::uint64_t looked_again = 0;  // compared a second time, row by row, because a digest that they are in differed
  std::uint64_t in_flight = 0;     // of these: still different then, but right when looked at under their locks
  std::uint64_t found = 0;         // findings that stand; 0: everything that was looked at agrees
  std::uint64_t repaired = 0;      // entities mended
  std::vector<Finding> findings;   // samples of what stands
  std::vector<Finding> mended;     // samples of what was mended
};

struct CleanReport {
  std::uint64_t checked = 0;                    // entities
  std::map<FindingKind, std::uint64_t> mended;  // index rows: those that were missing, and those that were too many
  std::uint64_t purged = 0;                     // tombstones
  std::map<int, std::uint64_t> failures;  // passes that failed, by the server's error number; 0: for another reason

  [[nodiscard]] std::uint64_t inserted() const { return rows(true); }
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

// One pass over what changed, or one sweep of everything beside the passes, as it ends.
struct CleanPass {
  const CleanReport& report;  // of all passes so far
  bool sweep = false;
  const Error* failure = nullptr;          // why it could not be finished; null if it could
  std::vector<std::chrono::seconds> lags;  // by shard: the age of the oldest change that may not have been looked at
};

struct CleanOptions {
  bool full = false;    // sweep everything, not only what changed
  bool follow = false;  // go on until told to stop, and, if another process cleans, wait for its end
  std::chrono::seconds full_every = std::chrono::hours(24);  // how often to sweep, with full and follow
  Throttle throttle = {};                                    // holds passes and sweeps back, each for itself
  std::function<void(const CleanPass&)> on_pass = {};        // called after each pass and sweep; must not throw
  std::function<void(const Error&)> on_wait = {};  // with follow: another process, which the error names, cleans
};

}  // namespace looseleaf

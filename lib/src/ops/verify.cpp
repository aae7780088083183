// verify: walks everything, then looks at each suspicion again, under locks.
#include "ops/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "model/value.hpp"
#include "ops/index_tables.hpp"
#include "ops/reconcile.hpp"
#include "ops/throttling.hpp"
#include "ops/walk.hpp"
#include "store/placement.hpp"
#include "store/table_check.hpp"

namespace looseleaf {

std::string to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::missing:
      return "missing";
    case FindingKind::stale:
      return "stale";
    case FindingKind::orphan:
      return "orphan";
    case FindingKind::misplaced:
      return "misplaced";
    case FindingKind::unreadable:
      return "unreadable";
    case FindingKind::wrong_id:
      return "wrong_id";
    case FindingKind::wrong_shard:
      return "wrong_shard";
    case FindingKind::table_differs:
      return "table_differs";
    case FindingKind::catalog_differs:
      return "catalog_differs";
  }
  return {};
}

namespace ops {
namespace {

constexpr std::size_t most_suspects = 10'000;  // looked at again at once

using Clock = std::chrono::steady_clock;

class Verification {
 public:
  Verification(store::Shards& shards, const VerifyOptions& options, JobControl& control, const VerifyHooks& hooks)
      : shards_(shards), options_(options), control_(control), hooks_(hooks), throttling_(shards, options.throttle) {}

  VerifyReport run() {
    choose_indexes();
    walk_all();
    look_again();
    confirm_after_grace();
    report_.findings.insert(report_.findings.end(), broken_entities_.begin(), broken_entities_.end());
    if (options_.repair && !confirmed_.empty()) {
      repair();
    } else {
      for (const Difference& difference : confirmed_) {
        report_.findings.push_back(to_finding(difference));
      }
    }
    for (const Finding& finding : report_.findings) {
      if (!finding.index.empty()) {
        ++report_.counts[{finding.index, finding.shard}].findings[finding.kind];
      }
    }
    return std::move(report_);
  }

 private:
  // The indexes asked for whose catalogs and tables are in order; what is not in order is a finding.
  void choose_indexes() {
    const base::Deadline deadline = shards_.deadline();
    std::vector<std::string> tables = options_.tables.empty() ? all_indexes(shards_, deadline) : options_.tables;
    for (const std::string& table : tables) {
      const IndexEverywhere everywhere = look_up_settled(table);
      if (!everywhere.in_any_catalog()) {
        if (options_.tables.empty()) {
          continue;  // dropped a moment ago
        }
        throw no_such_index(shards_, table, shards_.deadline());
      }
      if (not_in_force(table, everywhere)) {
        continue;
      }
      if (check_catalogs(table, everywhere) && check_tables(*everywhere.on_shard.front())) {
        indexes_.push_back(*everywhere.on_shard.front());
        generations_.emplace(table, everywhere.on_shard.front()->generation);
        report_.verified.push_back(table);
      }
    }
  }

  // Shards differ for a moment while an index is created, published or dropped: looks again before calling it a
  // finding.
  IndexEverywhere look_up_settled(const std::string& table) {
    constexpr int looks = 10;
    constexpr auto between = std::chrono::milliseconds(300);
    IndexEverywhere everywhere = look_up_index(shards_, table, shards_.deadline());
    for (int i = 1; i < looks && !differences(everywhere).empty(); ++i) {
      hooks_.heartbeat();
      std::this_thread::sleep_for(between);
      everywhere = look_up_index(shards_, table, shards_.deadline());
    }
    return everywhere;
  }

  // True if the index is not in force: left out of a verification of all, an error if it was named.
  bool not_in_force(const std::string& table, const IndexEverywhere& everywhere) {
    bool dropping = false, building = true;
    for (const auto& index : everywhere.on_shard) {
      dropping = dropping || (index && (index->state == IndexState::dropping || index->state == IndexState::dropped));
      building = building && (!index || index->state == IndexState::building);
    }
    if (!dropping && (!building || hooks_.building_too)) {
      return false;
    }
    const char* what = dropping ? "index is being dropped" : "index is still building and was not verified";
    const std::string hint = dropping ? fmt::format("run `looseleaf drop-index {}` to finish that", table)
                                      : fmt::format("run `looseleaf backfill {}`, which verifies it", table);
    if (!options_.tables.empty()) {
      throw Error(ErrorCode::bad_index, what, {{"index", table}}, hint);
    }
    shards_.warn({what, {{"index", table}}, hint});
    return true;
  }

  struct CatalogDifference {
    std::uint32_t shard;
    bool state_only;
    std::string what;
  };

  static std::vector<CatalogDifference> differences(const IndexEverywhere& everywhere) {
    const auto& first = everywhere.on_shard.front();
    std::vector<CatalogDifference> found;
    if (!first && everywhere.in_any_catalog()) {
      found.push_back({0, false, "this shard's catalog lacks the index"});
    }
    for (std::uint32_t shard = 1; first && shard < everywhere.on_shard.size(); ++shard) {
      const auto& other = everywhere.on_shard[shard];
      if (!other) {
        found.push_back({shard, false, "this shard's catalog lacks the index"});
      } else if (other->generation != first->generation || other->definition != first->definition) {
        found.push_back({shard, false, "this shard's catalog has another definition or generation than shard 0's"});
      } else if (other->state != first->state) {
        found.push_back(
            {shard, true,
             fmt::format("its state is {}, but {} on shard 0", to_string(other->state), to_string(first->state))});
      }
    }
    return found;
  }

  // True if the index is the same everywhere, so that its rows can be judged; its state may differ.
  bool check_catalogs(const std::string& table, const IndexEverywhere& everywhere) {
    bool comparable = true;
    for (const CatalogDifference& difference : differences(everywhere)) {
      report_.findings.push_back({FindingKind::catalog_differs, table, difference.shard, {}, difference.what});
      comparable = comparable && difference.state_only;
    }
    return comparable;
  }

  bool check_tables(const store::CatalogIndex& index) {
    bool in_order = true;
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      const auto differences = store::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
        return store::table_differences(connection, index.definition);
      });
      for (const std::string& difference : differences) {
        report_.findings.push_back({FindingKind::table_differs, index.definition.table, shard, {}, difference});
        in_order = false;
      }
    }
    return in_order;
  }

  void walk_all() {
    WalkVisitor visitor;
    visitor.suspect = [this](const Uuid& id) {
      suspects_[store::shard_of(id, shards_.count())].push_back(id);
      if (++suspect_count_ >= most_suspects) {
        look_again();
      }
    };
    visitor.broken_entity = [this](Finding finding) { broken_entities_.push_back(std::move(finding)); };
    visitor.progress = [this](std::uint32_t shard, std::uint64_t entities) {
      throttling_.wait(WalkVisitor::progress_every,
                       [&](const std::string& reason) { breathe(shard, entities, reason); });
      breathe(shard, entities, {});
    };
    const WalkCounts counts = walk_or_explain(visitor);
    report_.entities = counts.entities;
    for (const auto& [key, rows] : counts.rows) {
      report_.counts[key].rows = rows;
    }
  }

  void breathe(std::uint32_t shard, std::uint64_t entities, const std::string& waiting) {
    hooks_.heartbeat();
    if (control_.stop.load()) {
      throw Error(ErrorCode::interrupted, "stopped before everything was checked");
    }
    if (control_.on_progress) {
      control_.on_progress({"verify", shard, entities, 0, waiting});
    }
  }

  WalkCounts walk_or_explain(const WalkVisitor& visitor) {
    try {
      return walk(shards_, indexes_, visitor);
    } catch (const sql::ServerError& error) {
      if (error.error_class() != sql::ErrorClass::table_gone) {
        throw;
      }
      throw Error(ErrorCode::unavailable, "an index was dropped while it was verified", error.context(),
                  "run the command again");
    }
  }

  // First locked look. Missing rows are findings now; others must stand a second look after the grace period.
  void look_again() {
    for (const auto& [shard, ids] : suspects_) {
      report_.looked_again += ids.size();
      for (Difference& difference : examine(shard, ids)) {
        if (difference.kind == FindingKind::missing) {
          confirmed_.insert(std::move(difference));
        } else {
          standing_.insert(std::move(difference));
          first_look_ = Clock::now();
        }
      }
    }
    suspects_.clear();
    suspect_count_ = 0;
  }

  void confirm_after_grace() {
    if (standing_.empty()) {
      return;
    }
    const auto until = first_look_ + std::chrono::seconds(options_.grace_seconds);
    while (Clock::now() < until) {
      if (control_.stop.load()) {
        throw Error(ErrorCode::interrupted, "stopped before everything was checked");
      }
      hooks_.heartbeat();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    for (const auto& [shard, ids] : by_entity_shard(standing_)) {
      for (Difference& difference : examine(shard, ids)) {
        if (difference.kind == FindingKind::missing || standing_.contains(difference)) {
          confirmed_.insert(std::move(difference));
        }
      }
    }
  }

  // Differences of these entities in the indexes that are being verified, as seen under their locks.
  std::vector<Difference> examine(std::uint32_t shard, const std::vector<Uuid>& ids) {
    return apply(shard, ids, ReconcileMode::examine);
  }

  std::vector<Difference> apply(std::uint32_t shard, const std::vector<Uuid>& ids, ReconcileMode mode) {
    std::vector<Difference> found = reconcile_in_slices(shards_, shard, ids, mode, [this] {
                                      hooks_.heartbeat();
                                      if (control_.stop.load()) {
                                        throw Error(ErrorCode::interrupted, "stopped before everything was checked");
                                      }
                                    }).differences;
    std::erase_if(found, [&](const Difference& difference) {
      return difference.kind == FindingKind::unreadable ||
             !generations_.contains({difference.table, difference.generation});
    });
    return found;
  }

  std::map<std::uint32_t, std::vector<Uuid>> by_entity_shard(const std::set<Difference>& differences) const {
    std::map<std::uint32_t, std::vector<Uuid>> ids;
    for (const Difference& difference : differences) {
      auto& of_shard = ids[store::shard_of(difference.entry.entity_id, shards_.count())];
      of_shard.push_back(difference.entry.entity_id);
    }
    for (auto& [shard, of_shard] : ids) {
      std::sort(of_shard.begin(), of_shard.end());
      of_shard.erase(std::unique(of_shard.begin(), of_shard.end()), of_shard.end());
    }
    return ids;
  }

  // Mends what was confirmed, then looks again: what still differs is what is reported.
  void repair() {
    for (const auto& [shard, ids] : by_entity_shard(confirmed_)) {
      apply(shard, ids, ReconcileMode::repair);
      for (const Difference& difference : examine(shard, ids)) {
        if (confirmed_.erase(difference) > 0) {
          report_.findings.push_back(to_finding(difference));
        }
      }
    }
    std::set<Uuid> mended;
    for (const Difference& difference : confirmed_) {
      report_.mended.push_back(to_finding(difference));
      mended.insert(difference.entry.entity_id);
    }
    report_.repaired = mended.size();
  }

  static Finding to_finding(const Difference& difference) {
    return {difference.kind, difference.table, difference.shard, difference.entry.entity_id,
            model::to_json(difference.entry.values)};
  }

  store::Shards& shards_;
  const VerifyOptions& options_;
  JobControl& control_;
  const VerifyHooks& hooks_;
  Throttling throttling_;
  std::vector<store::CatalogIndex> indexes_;
  std::set<std::pair<std::string, std::uint64_t>> generations_;  // of these
  std::map<std::uint32_t, std::vector<Uuid>> suspects_;          // by entity shard
  std::size_t suspect_count_ = 0;
  std::set<Difference> standing_, confirmed_;
  std::vector<Finding> broken_entities_;
  Clock::time_point first_look_;  // the latest
  VerifyReport report_;
};

}  // namespace

VerifyReport verify(store::Shards& shards, const VerifyOptions& options, JobControl& control,
                    const VerifyHooks& hooks) {
  shards.check_identities();
  return Verification(shards, options, control, hooks).run();
}

}  // namespace ops
}  // namespace looseleaf

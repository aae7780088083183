// verify: walks everything, then looks at each suspicion again, under locks.
#include "ops/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "model/value.hpp"
#include "ops/findings.hpp"
#include "ops/reconcile.hpp"
#include "ops/throttling.hpp"
#include "ops/verifiable_indexes.hpp"
#include "ops/walk.hpp"
#include "store/placement.hpp"

namespace looseleaf::ops {
namespace {

constexpr std::size_t most_unsettled = 10'000;  // differences kept in memory

using Clock = std::chrono::steady_clock;

class Verification {
 public:
  Verification(store::Shards& shards, const VerifyOptions& options, JobControl& control, const VerifyHooks& hooks)
      : shards_(shards), options_(options), control_(control), hooks_(hooks), throttling_(shards, options.throttle) {}

  VerifyReport run() {
    indexes_ = verifiable_indexes(shards_, options_, hooks_, findings_);
    for (const store::CatalogIndex& index : indexes_) {
      generations_.emplace(index.definition.table, index.generation);
      report_.verified.push_back(index.definition.table);
    }
    walk_all();
    settle();
    return std::move(report_);
  }

  // What cannot be said to be consistent when run() fails.
  [[nodiscard]] std::string unchecked() const {
    return report_.verified.empty() ? "all indexes" : fmt::format("{}", fmt::join(report_.verified, ", "));
  }

 private:
  void walk_all() {
    WalkVisitor visitor;
    visitor.suspects = [this](const std::vector<Uuid>& ids) { look_again(ids); };
    visitor.broken_entity = [this](const Finding& finding) { findings_.add(finding); };
    visitor.progress = [this](const Progress& progress) {
      breathe();
      if (control_.on_progress) {
        control_.on_progress(progress);
      }
    };
    const WalkCounts counts = walk_or_explain(visitor);
    report_.entities = counts.entities;
    report_.looked_again = counts.looked_again;
    for (const auto& [key, rows] : counts.rows) {
      report_.counts[key].rows = rows;
    }
  }

  void breathe() {
    hooks_.heartbeat();
    if (control_.stop.load()) {
      throw Error(ErrorCode::interrupted, "stopped before everything was checked");
    }
  }

  WalkCounts walk_or_explain(const WalkVisitor& visitor) {
    try {
      return walk(shards_, indexes_, throttling_, visitor);
    } catch (const sql::ServerError& error) {
      if (error.error_class() != sql::ErrorClass::table_gone) {
        throw;
      }
      throw Error(ErrorCode::unavailable, "an index was dropped while it was verified", error.context(),
                  "run the command again");
    }
  }

  // First locked look. Missing rows are findings now; others must stand a second look after the grace period.
  void look_again(const std::vector<Uuid>& suspects) {
    std::map<std::uint32_t, std::vector<Uuid>> by_shard;
    for (const Uuid& id : suspects) {
      by_shard[store::shard_of(id, shards_.count())].push_back(id);
    }
    std::set<Uuid> wrong;
    for (const auto& [shard, ids] : by_shard) {
      for (Difference& difference : examine(shard, ids)) {
        wrong.insert(difference.entry.entity_id);
        if (difference.kind == FindingKind::missing) {
          confirmed_.insert(std::move(difference));
        } else if (difference.kind != FindingKind::unreadable) {  // which the walk has reported
          standing_.insert(std::move(difference));
          first_look_ = Clock::now();
        }
      }
    }
    report_.in_flight += suspects.size() - wrong.size();
    if (confirmed_.size() + standing_.size() >= most_unsettled) {
      settle();
    }
  }

  // Makes findings of what was seen, or mends it.
  void settle() {
    confirm_after_grace();
    if (options_.repair) {
      repair();
    }
    for (const Difference& difference : confirmed_) {
      findings_.add(to_finding(difference));
    }
    confirmed_.clear();
  }

  void confirm_after_grace() {
    if (standing_.empty()) {
      return;
    }
    const auto until = first_look_ + std::chrono::seconds(options_.grace_seconds);
    while (Clock::now() < until) {
      breathe();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    const std::set<Difference> standing = std::exchange(standing_, {});
    std::set<Uuid> gone = entities_of(standing);
    for (const auto& [shard, ids] : by_entity_shard(standing)) {
      for (Difference& difference : examine(shard, ids)) {
        if (difference.kind == FindingKind::missing || standing.contains(difference)) {
          confirmed_.insert(std::move(difference));
        }
      }
    }
    for (const Uuid& id : entities_of(confirmed_)) {
      gone.erase(id);
    }
    report_.in_flight += gone.size();
  }

  // Differences of these entities in the indexes that are being verified, as seen under their locks; and which of the
  // entities are unreadable.
  std::vector<Difference> examine(std::uint32_t shard, const std::vector<Uuid>& ids) {
    return apply(shard, ids, ReconcileMode::examine);
  }

  std::vector<Difference> apply(std::uint32_t shard, const std::vector<Uuid>& ids, ReconcileMode mode) {
    std::vector<Difference> found = reconcile_in_slices(shards_, shard, ids, mode, [this] { breathe(); }).differences;
    std::erase_if(found, [&](const Difference& difference) {
      return difference.kind != FindingKind::unreadable &&
             !generations_.contains({difference.table, difference.generation});
    });
    return found;
  }

  static std::set<Uuid> entities_of(const std::set<Difference>& differences) {
    std::set<Uuid> ids;
    for (const Difference& difference : differences) {
      ids.insert(difference.entry.entity_id);
    }
    return ids;
  }

  [[nodiscard]] std::map<std::uint32_t, std::vector<Uuid>> by_entity_shard(
      const std::set<Difference>& differences) const {
    std::map<std::uint32_t, std::vector<Uuid>> ids;
    for (const Uuid& id : entities_of(differences)) {
      ids[store::shard_of(id, shards_.count())].push_back(id);
    }
    return ids;
  }

  // Mends what was confirmed, then looks again: what still differs stays confirmed.
  void repair() {
    std::set<Difference> left;
    for (const auto& [shard, ids] : by_entity_shard(confirmed_)) {
      apply(shard, ids, ReconcileMode::repair);
      for (const Difference& difference : examine(shard, ids)) {
        if (confirmed_.contains(difference)) {
          left.insert(difference);
        }
      }
    }
    std::set<Uuid> mended;
    for (const Difference& difference : confirmed_) {
      if (!left.contains(difference)) {
        findings_.add_mended(to_finding(difference));
        mended.insert(difference.entry.entity_id);
      }
    }
    report_.repaired += mended.size();
    confirmed_ = std::move(left);
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
  std::set<Difference> standing_, confirmed_;                    // not settled yet
  Clock::time_point first_look_;                                 // at what stands, the latest
  VerifyReport report_;
  Findings findings_{options_, report_};
};

}  // namespace

VerifyReport verify(store::Shards& shards, const VerifyOptions& options, JobControl& control,
                    const VerifyHooks& hooks) {
  shards.check_identities();
  Verification verification(shards, options, control, hooks);
  try {
    return verification.run();
  } catch (Error& error) {
    if (error.code() != ErrorCode::bad_index && error.code() != ErrorCode::usage) {
      error.with("not_verified", verification.unchecked());
    }
    throw;
  }
}

}  // namespace looseleaf::ops

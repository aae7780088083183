// verify compares everything, then rechecks each suspect under locks.
#include "verify/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "model/value.hpp"
#include "reconcile/reconcile.hpp"
#include "shard/placement.hpp"
#include "shard/rows_of_entities.hpp"
#include "verify/digest_comparison.hpp"
#include "verify/findings.hpp"
#include "verify/verifiable_indexes.hpp"

namespace looseleaf::verify {
namespace {

constexpr std::size_t most_suspects = 1000;       // suspects that one round rechecks
constexpr std::size_t most_differences = 10'000;  // differences kept in memory

constexpr int most_checks = 5;  // limits the checks of a superfluous row of an entity that is written all the time

// A superfluous row, as it was last seen.
struct Standing {
  base::Stamp updated;  // its entity's stamp
  int checks = 1;
};

using Clock = std::chrono::steady_clock;

class Verification {
 public:
  Verification(shard::Shards& shards, const VerifyOptions& options, job::Job& job, const AsPart& as_part)
      : shards_(shards), options_(options), job_(job), as_part_(as_part) {}

  VerifyReport run() {
    if (!tool_tables_are_in_order(shards_, options_, job_, findings_)) {
      return std::move(report_);
    }
    indexes_ = verifiable_indexes(shards_, options_, job_, as_part_, findings_);
    for (const shard::CatalogIndex& index : indexes_) {
      verified_.indexes->emplace(index.definition.table, index.generation);
      report_.verified.push_back(index.definition.table);
    }
    if (options_.definitions_only) {
      return std::move(report_);
    }
    plan_progress();
    compare_all();
    conclude();
    count_mended_rows();
    return std::move(report_);
  }

  // Names the indexes whose consistency is unknown when run() fails.
  [[nodiscard]] std::string unchecked() const {
    return report_.verified.empty() ? "all indexes" : fmt::format("{}", fmt::join(report_.verified, ", "));
  }

 private:
  // Reading and decoding an entity takes about seven times as long as digesting a row (docs/performance.md).
  void plan_progress() {
    constexpr double of_an_index = 0.15;
    if (!job_.progress().is_planned()) {
      job_.progress().plan({{"verify", 1}, {"compare", of_an_index * static_cast<double>(indexes_.size())}});
    }
  }

  void compare_all() {
    ComparisonVisitor visitor;
    visitor.suspects = [this](const std::vector<Uuid>& ids) {
      suspects_.insert(ids.begin(), ids.end());
      if (suspects_.size() >= most_suspects) {
        recheck();
      }
    };
    visitor.broken_entity = [this](const Finding& finding) { findings_.add(finding); };
    const ComparisonCounts counts = compare_or_explain(visitor);
    recheck();
    require_same_indexes();
    report_.entities = counts.entities;
    report_.deleted = counts.deleted;
    report_.indexing = counts.indexing;
    report_.looked_again = counts.compared_by_row;
    for (const auto& [key, rows] : counts.rows) {
      report_.counts[key].rows = rows;
    }
  }

  // The rows of an index that was dropped and created again meanwhile were compared with nothing.
  void require_same_indexes() {
    shard::for_each_shard(shards_, [this](std::uint32_t shard) {
      const auto catalog = shard::read_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
        return shards_.catalogs().reload(shard, database);
      });
      for (const auto& index : indexes_) {
        const shard::CatalogIndex* const now = catalog->find(index.definition.table);
        if (now == nullptr || now->generation != index.generation || now->is_being_dropped()) {
          throw Error(ErrorCode::unavailable, "an index was dropped while it was verified",
                      {{"index", index.definition.table}}, "run the command again");
        }
      }
    });
  }

  ComparisonCounts compare_or_explain(const ComparisonVisitor& visitor) {
    try {
      const bool all_named = report_.verified == options_.tables;
      return compare_digests(shards_, indexes_, job_, visitor, all_named ? as_part_.scanned : nullptr);
    } catch (const sql::ServerError& error) {
      if (error.error_class() != sql::ErrorClass::table_gone) {
        throw;
      }
      require_same_indexes();
      throw;
    }
  }

  // Checks the suspects under locks for the first time. A missing row becomes a finding now. Other differences must
  // still be there when they are checked again after the grace period.
  void recheck() {
    std::set<Uuid> wrong;
    const std::set<Uuid> suspects = std::exchange(suspects_, {});
    for (const auto& [shard, ids] : by_entity_shard(suspects)) {
      shard::in_batches(ids, reconcile::reconcile_slice, [&, shard = shard](std::span<const Uuid> some) {
        for (reconcile::Difference& difference : examine(shard, {some.begin(), some.end()})) {
          wrong.insert(difference.entry.entity_id);
          if (is_certain(difference.kind)) {
            confirmed_.insert(std::move(difference));
          } else if (difference.kind != FindingKind::unreadable) {
            // The comparison has already reported unreadable entities.
            stand(std::move(difference), 1);
          }
        }
        if (confirmed_.size() + standing_.size() >= most_differences) {
          conclude();
        }
      });
    }
    report_.in_flight += suspects.size() - wrong.size();
  }

  // Confirms the standing differences, then repairs the confirmed ones or reports them as findings.
  void conclude() {
    while (!standing_.empty()) {
      confirm_after_grace();
    }
    if (options_.repair) {
      repair();
    }
    for (const reconcile::Difference& difference : confirmed_) {
      findings_.add(to_finding(difference));
    }
    confirmed_.clear();
  }

  // A superfluous row that is still there is a finding, unless its entity was written meanwhile. In that case the later
  // put may have left the row for a moment, as an earlier put did, so the row gets another grace period.
  void confirm_after_grace() {
    const auto until = first_check_ + std::chrono::seconds(options_.grace_seconds);
    if (Clock::now() < until) {
      say_that_it_waits(std::chrono::ceil<std::chrono::seconds>(until - Clock::now()));
      job_.wait_until(until, "changes in flight must settle (--grace)");
    }
    const std::map<reconcile::Difference, Standing> before = std::exchange(standing_, {});
    std::set<Uuid> gone;
    for (const auto& [difference, standing] : before) {
      gone.insert(difference.entry.entity_id);
    }
    for (const auto& [shard, ids] : by_entity_shard(gone)) {
      for (reconcile::Difference& difference : examine(shard, ids)) {
        const auto stood = before.find(difference);
        if (!is_certain(difference.kind) && stood == before.end()) {
          continue;
        }
        gone.erase(difference.entry.entity_id);
        if (is_certain(difference.kind) || stood->second.updated == difference.updated ||
            stood->second.checks == most_checks) {
          confirmed_.insert(std::move(difference));
        } else {
          stand(std::move(difference), stood->second.checks + 1);
        }
      }
    }
    for (const reconcile::Difference& difference : confirmed_) {
      gone.erase(difference.entry.entity_id);
    }
    report_.in_flight += gone.size();
  }

  // A row that is not there while its entity is locked is missing. Superfluous rows may be there for a moment.
  static constexpr FindingKind certain_kinds[] = {FindingKind::missing, FindingKind::conflict};
  static bool is_certain(FindingKind kind) {
    return std::find(std::begin(certain_kinds), std::end(certain_kinds), kind) != std::end(certain_kinds);
  }

  void say_that_it_waits(std::chrono::seconds time) {
    if (options_.on_wait && !std::exchange(said_that_it_waits_, true)) {
      options_.on_wait(time);
    }
  }

  void stand(reconcile::Difference difference, int checks) {
    const base::Stamp updated = difference.updated;
    standing_.insert_or_assign(std::move(difference), Standing{updated, checks});
    first_check_ = Clock::now();
  }

  // Returns the differences of these entities in the verified indexes, as seen under the entities' locks. The result
  // also names the unreadable entities.
  std::vector<reconcile::Difference> examine(std::uint32_t shard, const std::vector<Uuid>& ids) {
    return apply(shard, ids, reconcile::ReconcileMode::examine);
  }

  std::vector<reconcile::Difference> apply(std::uint32_t shard, const std::vector<Uuid>& ids,
                                           reconcile::ReconcileMode mode) {
    return reconcile::reconcile_in_slices(shards_, job_, shard, ids, mode, reconcile::Pace::by_job, verified_)
        .differences;
  }

  static std::set<Uuid> entities_of(const std::set<reconcile::Difference>& differences) {
    std::set<Uuid> ids;
    for (const reconcile::Difference& difference : differences) {
      ids.insert(difference.entry.entity_id);
    }
    return ids;
  }

  [[nodiscard]] std::map<std::uint32_t, std::vector<Uuid>> by_entity_shard(const std::set<Uuid>& ids) const {
    std::map<std::uint32_t, std::vector<Uuid>> by_shard;
    for (const Uuid& id : ids) {
      by_shard[shard::shard_of(id, shards_.count())].push_back(id);
    }
    return by_shard;
  }

  // Returns true if it is among those left. Once one of two missing rows is inserted, the other one is a conflict.
  static bool is_left(const std::set<reconcile::Difference>& left, reconcile::Difference difference) {
    if (!is_certain(difference.kind)) {
      return left.contains(difference);
    }
    return std::any_of(std::begin(certain_kinds), std::end(certain_kinds), [&](FindingKind kind) {
      difference.kind = kind;
      return left.contains(difference);
    });
  }

  // Repairs the confirmed differences, then checks again. Differences that remain stay confirmed. What is repaired is
  // told a few entities at a time: nothing else would ever tell it if this run fails afterwards.
  void repair() {
    std::map<Uuid, std::vector<reconcile::Difference>> by_entity;
    for (const reconcile::Difference& difference : confirmed_) {
      by_entity[difference.entry.entity_id].push_back(difference);
    }
    std::set<reconcile::Difference> left;
    for (const auto& [shard, ids] : by_entity_shard(entities_of(confirmed_))) {
      shard::in_batches(ids, reconcile::reconcile_slice, [&, shard = shard](std::span<const Uuid> some) {
        const std::vector<Uuid> batch(some.begin(), some.end());
        apply(shard, batch, reconcile::ReconcileMode::repair);
        for (const reconcile::Difference& difference : examine(shard, batch)) {
          if (is_certain(difference.kind) || confirmed_.contains(difference)) {
            left.insert(difference);
          }
        }
        for (const Uuid& id : batch) {
          note_mended(by_entity.at(id), left);
        }
      });
    }
    confirmed_ = std::move(left);
  }

  void note_mended(const std::vector<reconcile::Difference>& of_entity, const std::set<reconcile::Difference>& left) {
    bool any = false;
    for (const reconcile::Difference& difference : of_entity) {
      if (!is_left(left, difference)) {
        findings_.add_mended(to_finding(difference));
        any = true;
      }
    }
    report_.repaired += any ? 1 : 0;
  }

  // Adjusts the row counts, because the comparison counted the rows as they were before the repair.
  void count_mended_rows() {
    for (auto& [place, count] : report_.counts) {
      for (const auto& [kind, mended] : count.mended) {
        if (kind == FindingKind::missing) {
          count.rows += mended;
        } else {
          count.rows -= std::min(count.rows, mended);
        }
      }
    }
  }

  static Finding to_finding(const reconcile::Difference& difference) {
    return {difference.kind,
            difference.table,
            difference.shard,
            difference.entry.entity_id,
            model::to_json(difference.entry.values),
            difference.holder};
  }

  shard::Shards& shards_;
  const VerifyOptions& options_;
  job::Job& job_;
  const AsPart& as_part_;
  std::vector<shard::CatalogIndex> indexes_;
  reconcile::Selection verified_{std::set<std::pair<std::string, std::uint64_t>>()};  // `indexes_`
  std::set<Uuid> suspects_;                             // wait for a look under their locks
  std::map<reconcile::Difference, Standing> standing_;  // may be there only for a moment
  std::set<reconcile::Difference> confirmed_;           // not reported yet
  Clock::time_point first_check_;                       // time of the latest first check of a standing difference
  bool said_that_it_waits_ = false;
  VerifyReport report_;
  Findings findings_{options_, report_};
};

// Returns true if the server replicates another one, as far as the user may know.
bool is_replica(sql::Connection& session) {
  try {
    return session.facts().flavour == sql::Flavour::mariadb
               ? session.query("SHOW GLOBAL STATUS LIKE 'Slaves_running'").text(0, 1) != "0"
               : session.query(
                            "SELECT COUNT(*) FROM performance_schema.replication_connection_status WHERE "
                            "service_state <> 'OFF' AND channel_name NOT LIKE 'group_replication%'")
                         .text(0, 0) != "0";
  } catch (const sql::ServerError& error) {
    if (session.broken()) {
      throw;
    }
    return false;
  }
}

void warn_of_writable_replicas(shard::Shards& shards) {
  for (const auto& here : shard::shards_by_server(shards)) {
    if (shard::with_shard(shards, here.front(), shards.deadline(),
                          [](const sql::Database& database) { return is_replica(*database); })) {
      shards.warnings().give(
          {"a server that is written to is itself a replica: changes from elsewhere would not keep to "
           "the protocol",
           shards.where(here.front()), "end its replication if it was promoted, or correct the cluster file"});
    }
  }
}

}  // namespace

VerifyReport verify(shard::Shards& shards, const VerifyOptions& options, JobControl& control) {
  job::Job job(shards, control, options.throttle, "verify",
               Error(ErrorCode::interrupted, "interrupted before everything was checked", {},
                     "nothing is proved; run the same command to begin again"));
  return verify(shards, options, job, {});
}

VerifyReport verify(shard::Shards& shards, const VerifyOptions& options, job::Job& job, const AsPart& as_part) {
  shards.check_identities();
  Verification verification(shards, options, job, as_part);
  try {
    if (!as_part.wait_for_shards) {
      // An entity on any shard may call for rows on any other shard, so nothing can be proved while one is down.
      shard::require_every_shard(shards, "nothing was verified: every shard is needed, and one is down");
      warn_of_writable_replicas(shards);
    }
    return verification.run();
  } catch (Error& error) {
    if (error.code() != ErrorCode::bad_index && error.code() != ErrorCode::usage) {
      error.with("not_verified", verification.unchecked());
    }
    throw;
  }
}

}  // namespace looseleaf::verify

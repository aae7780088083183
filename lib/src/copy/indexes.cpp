// The catalogs of both clusters, by name.
#include "copy/indexes.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backfill/backfill.hpp"
#include "index/create_index.hpp"
#include "index/drop_index.hpp"
#include "job/jobs.hpp"
#include "job/throttling.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/other_store.hpp"

namespace looseleaf::copy {
namespace {

struct Indexes {
  std::map<std::string, IndexDefinition> definitions;
  std::map<std::string, bool> ready;
  std::set<std::string> incomplete;  // shards do not agree about them, or they are being dropped
  bool building = false;
};

Indexes read_indexes(shard::Shards& shards) {
  const std::vector<shard::Catalog> catalogs = shard::read_catalogs(shards, shards.deadline());
  Indexes indexes;
  for (const std::string& table : shard::all_indexes(catalogs)) {
    const shard::IndexEverywhere everywhere = shard::find_index(catalogs, table);
    bool complete = !everywhere.is_being_dropped();
    bool& ready = indexes.ready[table] = true;
    for (const auto& index : everywhere.on_shard) {
      complete = complete && index && index->generation == everywhere.generation();
      if (index) {
        indexes.building = indexes.building || index->state == IndexState::building;
        ready = ready && index->state == IndexState::ready;
        indexes.definitions.emplace(table, index->definition);
      }
    }
    if (!complete) {
      indexes.incomplete.insert(table);
    }
  }
  return indexes;
}

// Throws unless all shards agree about each index.
Indexes read_complete_indexes(shard::Shards& shards, const char* whose) {
  Indexes indexes = read_indexes(shards);
  if (!indexes.incomplete.empty()) {
    throw Error(ErrorCode::busy, "an index is being created or dropped",
                {{"index", *indexes.incomplete.begin()}, {"cluster", whose}},
                "let that end, or run that command again to complete it, and then this one");
  }
  return indexes;
}

Error indexes_changed(const std::string& table) {
  return {ErrorCode::busy,
          "an index has been created, filled or dropped meanwhile",
          {{"index", table}},
          "run the command again: it begins with the indexes"};
}

// The sessions that jobs hold are few, and the copy holds one.
std::unique_ptr<shard::Shards> sessions_of_its_own(Target& target) {
  auto other = shard::Shards::beside(target.shards());
  other->use_access_token(target.shards().access_token());
  return other;
}

// Returns the indexes of which a drop is under way or has died, also those that are in no catalog any more.
std::set<std::string> drops_under_way(shard::Shards& shards) {
  const auto jobs = shard::read_shard(shards, 0, shards.deadline(), job::read_jobs);
  std::set<std::string> tables;
  for (const job::JobRow& row : jobs) {
    if (row.job == job::drop_job) {
      tables.insert(row.table);
    }
  }
  return tables;
}

void backfill_all(shard::Shards& other, const CopyOptions& options, JobControl& control) {
  BackfillOptions limited;
  limited.throttle = job::Throttling::in_other_store(other.cluster(), options.throttle);
  const BackfillReport filled = backfill::backfill(other, limited, control);
  if (!filled.left_out.empty()) {
    throw Error(filled.left_out.front());
  }
  for (const auto& [table, conflicts] : filled.conflicts) {
    if (options.follow) {
      other.warnings().give(
          {"a unique index stays `building` in the other cluster, because entities there have the same values",
           {{"index", table}},
           "when these entities have other values in this store, run `copy` once without --follow: it "
           "fills the index at its end"});
    }
  }
}

// A drop that died is completed. An index that a copier left incomplete when it died is dropped and created again.
void copy_indexes(const Indexes& wanted, shard::Shards& other, bool fresh, const CopyOptions& options,
                  JobControl& control, CopyReport& report) {
  Indexes there = read_indexes(other);
  for (const std::string& table : drops_under_way(other)) {
    if (!there.definitions.contains(table)) {
      index::drop_index(other, table, {});
    }
  }
  for (const auto& [table, definition] : there.definitions) {
    const auto found = wanted.definitions.find(table);
    const bool is_wanted = found != wanted.definitions.end() && found->second == definition;
    if (is_wanted && !there.incomplete.contains(table)) {
      continue;
    }
    if (!is_wanted && fresh) {
      throw Error(ErrorCode::usage, "the other cluster has an index that this store does not have", {{"index", table}},
                  "copy to a cluster that `init` has just made; nothing was copied");
    }
    index::drop_index(other, table, {});
    report.dropped.push_back(table);
  }
  for (const std::string& table : report.dropped) {
    there.definitions.erase(table);
  }
  std::vector<IndexDefinition> missing;
  for (const auto& [table, definition] : wanted.definitions) {
    if (!there.definitions.contains(table)) {
      missing.push_back(definition);
    }
  }
  for (const CreateReport& created : index::create_indexes(other, missing)) {
    report.created.push_back(created.table);
    there.building = there.building || created.state == IndexState::building;
  }
  if (there.building) {
    backfill_all(other, options, control);
  }
}

}  // namespace

void copy_indexes(shard::Shards& original, Target& target, const CopyOptions& options, JobControl& control,
                  CopyReport& report) {
  const auto other = sessions_of_its_own(target);
  const Indexes wanted = read_complete_indexes(original, "the original");
  shard::in_other_store(*other, [&] { copy_indexes(wanted, *other, target.fresh(), options, control, report); });
}

void fill_indexes(Target& target, const CopyOptions& options, JobControl& control) {
  const auto other = sessions_of_its_own(target);
  shard::in_other_store(*other, [&] {
    if (read_indexes(*other).building) {
      backfill_all(*other, options, control);
    }
  });
}

// An index that the original has not filled yet may be filled in the copy.
void require_same_indexes(shard::Shards& original, shard::Shards& other) {
  const Indexes wanted = read_complete_indexes(original, "the original");
  const Indexes there = read_complete_indexes(other, "the other one");
  for (const auto& [table, definition] : wanted.definitions) {
    const auto found = there.definitions.find(table);
    if (found == there.definitions.end() || found->second != definition ||
        (wanted.ready.at(table) && !there.ready.at(table))) {
      throw indexes_changed(table);
    }
  }
  for (const auto& [table, definition] : there.definitions) {
    if (!wanted.definitions.contains(table)) {
      throw indexes_changed(table);
    }
  }
}

}  // namespace looseleaf::copy

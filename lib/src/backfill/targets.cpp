#include "backfill/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "shard/index_everywhere.hpp"
#include "shard/schema.hpp"
#include "verify/verifiable_indexes.hpp"

namespace looseleaf::backfill {
namespace {

// Returns why the index cannot be filled; absent if it can.
std::optional<Error> refuse(shard::Shards& shards, const std::string& table, const shard::IndexEverywhere& everywhere) {
  if (!everywhere.in_any_catalog()) {
    return shard::no_such_index(shards, table);
  }
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    const auto& index = everywhere.on_shard[shard];
    Error::Context context = shards.where(shard);
    context.emplace(context.begin(), "index", table);
    if (index && index->generation != everywhere.generation()) {
      return Error(ErrorCode::bad_index, "shards have different generations of this index", context,
                   fmt::format("run `looseleaf drop-index {}` and create it again", table));
    }
    if (!index) {
      return Error(ErrorCode::bad_index, "index is not created on every shard", context,
                   "run `looseleaf create-index` with its definition again");
    }
    if (index->is_being_dropped()) {
      return Error(ErrorCode::bad_index, "index is being dropped", context,
                   fmt::format("run `looseleaf drop-index {}` to finish that", table));
    }
  }
  return std::nullopt;
}

bool is_ready(const shard::IndexEverywhere& everywhere) {
  return std::all_of(everywhere.on_shard.begin(), everywhere.on_shard.end(),
                     [](const auto& index) { return index->state == IndexState::ready; });
}

enum class IfReady { report, leave_out };

// Returns the index as it can be filled; absent if it is ready already or cannot be filled. The report, or a warning,
// says why. Throws why it cannot be filled if it was named.
std::optional<FillTarget> find_target(shard::Shards& shards, const std::vector<shard::Catalog>& catalogs,
                                      const std::string& table, const BackfillOptions& options, BackfillReport& report,
                                      IfReady if_ready) {
  const bool named = !options.tables.empty();
  const shard::IndexEverywhere everywhere = shard::find_index(catalogs, table);
  if (const auto refusal = refuse(shards, table, everywhere)) {
    if (named) {
      throw Error(*refusal);
    }
    if (everywhere.is_being_dropped()) {
      shards.warnings().give(
          {"an index is not filled: " + std::string(refusal->what()), refusal->context(), refusal->hint()});
    } else {
      report.left_out.push_back(*refusal);
    }
    return std::nullopt;
  }
  if (is_ready(everywhere)) {
    if (if_ready == IfReady::report) {
      report.ready.push_back(table);
    }
    return std::nullopt;
  }
  return FillTarget{everywhere.on_shard.front()->definition, *everywhere.generation()};
}

// Returns the token of the locks.
std::uint64_t take_locks(job::Job& job, const std::vector<std::string>& tables, bool named) {
  try {
    return job.take_lock(job::backfill_job, tables).token();
  } catch (Error& error) {
    if (error.code() == ErrorCode::busy && !named) {
      std::vector<std::string> others = tables;
      for (const auto& fact : error.context()) {
        std::erase_if(others, [&](const auto& table) { return fact.first == "index" && fact.second == table; });
      }
      if (!others.empty() && others.size() < tables.size()) {
        error.with_hint(fmt::format("{}; to fill the others meanwhile: `looseleaf backfill {}`", error.hint(),
                                    fmt::join(others, " ")));
      }
    }
    throw;
  }
}

}  // namespace

reconcile::Selection selection_of(const std::vector<FillTarget>& targets) {
  std::set<std::pair<std::string, std::uint64_t>> indexes;
  for (const FillTarget& target : targets) {
    indexes.emplace(target.definition.table, target.generation);
  }
  return {std::move(indexes)};
}

std::vector<FillTarget> find_targets(shard::Shards& shards, const BackfillOptions& options, job::Job& job,
                                     BackfillReport& report) {
  std::vector<shard::Catalog> catalogs = shard::read_catalogs(shards, shards.deadline());
  const bool named = !options.tables.empty();
  const std::set<std::string> tables =
      named ? std::set<std::string>(options.tables.begin(), options.tables.end()) : shard::all_indexes(catalogs);
  std::vector<std::string> building;
  for (const std::string& table : tables) {
    if (find_target(shards, catalogs, table, options, report, named ? IfReady::report : IfReady::leave_out)) {
      building.push_back(table);
    }
  }
  std::vector<FillTarget> targets;
  if (building.empty()) {
    return targets;
  }
  const std::uint64_t token = take_locks(job, building, named);
  // Until this run got the lock, another one may have filled an index, or dropped it.
  catalogs = shard::read_catalogs(shards, shards.deadline());
  for (const std::string& table : building) {
    if (auto target = find_target(shards, catalogs, table, options, report, IfReady::report)) {
      target->token = token;
      targets.push_back(std::move(*target));
    }
  }
  return targets;
}

void check_tables(shard::Shards& shards, const std::vector<FillTarget>& targets, job::Job& job) {
  const std::vector<Finding> found = verify::table_differences(shards, job, [&](sql::Flavour flavour) {
    std::vector<std::string> creates = shard::tool_tables();
    for (const FillTarget& target : targets) {
      creates.push_back(shard::create_index_table(target.definition, flavour));
    }
    return creates;
  });
  if (found.empty()) {
    return;
  }
  const Finding& first = found.front();
  const bool of_index = std::any_of(targets.begin(), targets.end(),
                                    [&](const FillTarget& target) { return target.definition.table == first.index; });
  const std::string hint = of_index
                               ? fmt::format("run `looseleaf drop-index {}`, then create the index again", first.index)
                               : "run `looseleaf verify` to see what differs, and repair it";
  throw Error(ErrorCode::corrupt, "a table is not as it should be",
              {{"table", first.index}, {"shard", std::to_string(first.shard)}, {"detail", first.values}},
              hint + "; nothing was filled");
}

}  // namespace looseleaf::backfill

// Chooses the indexes that can be verified: all shards agree about them, and their tables match the definitions.
#include "verify/verifiable_indexes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "shard/declared_index.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/schema.hpp"
#include "shard/table_check.hpp"

namespace looseleaf::verify {

std::vector<Finding> table_differences(shard::Shards& shards, job::Job& job,
                                       const std::function<std::vector<std::string>(sql::Flavour)>& create_statements) {
  std::mutex mutex;
  std::vector<Finding> found;
  job.for_each_shard([&](std::uint32_t shard) {
    std::vector<std::string> creates;
    const auto differences = shard::read_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
      creates = create_statements(database->facts().flavour);
      return shard::table_differences(database, creates);
    });
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < creates.size(); ++i) {
      for (const std::string& difference : differences[i]) {
        found.push_back({FindingKind::table_differs, shard::table_of(creates[i]), shard, {}, difference});
      }
    }
  });
  std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.index, a.shard) < std::tie(b.index, b.shard);
  });
  return found;
}

namespace {

class Choice {
 public:
  Choice(shard::Shards& shards, const VerifyOptions& options, job::Job& job, const AsPart& as_part, Findings& findings)
      : shards_(shards), options_(options), job_(job), as_part_(as_part), findings_(findings) {}

  std::vector<shard::CatalogIndex> choose() {
    std::vector<shard::CatalogIndex> comparable;
    std::vector<std::string> tables = options_.tables;
    const std::vector<shard::Catalog> catalogs = shard::read_catalogs(shards_, shards_.deadline());
    if (tables.empty()) {
      const auto all = shard::all_indexes(catalogs);
      tables.assign(all.begin(), all.end());
    }
    for (const std::string& table : distinct(tables)) {
      const shard::IndexEverywhere everywhere = stable(shard::find_index(catalogs, table), table);
      if (!everywhere.in_any_catalog()) {
        if (options_.tables.empty() || declared(table) != nullptr) {
          continue;  // dropped a moment ago, or declared but in no catalog
        }
        throw shard::no_such_index(shards_, table);
      }
      check_declaration(table, everywhere);
      if (!is_left_out(table, everywhere) && check_catalogs(table, everywhere)) {
        comparable.push_back(*everywhere.on_shard.front());
      } else {
        findings_.leave_out(table);
      }
    }
    check_all_declared_exist();
    leave_out_differing(comparable);
    return comparable;
  }

 private:
  // Returns each table once, in the original order.
  static std::vector<std::string> distinct(const std::vector<std::string>& tables) {
    std::set<std::string> seen;
    std::vector<std::string> once;
    std::copy_if(tables.begin(), tables.end(), std::back_inserter(once),
                 [&](const std::string& table) { return seen.insert(table).second; });
    return once;
  }

  // Returns null if the definitions do not include the table.
  [[nodiscard]] const IndexDefinition* declared(const std::string& table) const {
    if (!options_.definitions) {
      return nullptr;
    }
    const auto found = std::find_if(options_.definitions->begin(), options_.definitions->end(),
                                    [&](const IndexDefinition& definition) { return definition.table == table; });
    return found == options_.definitions->end() ? nullptr : &*found;
  }

  void definition_differs(const std::string& table, std::uint32_t shard, const std::string& what) {
    findings_.add({FindingKind::definition_differs, table, shard, {}, what});
  }

  void check_declaration(const std::string& table, const shard::IndexEverywhere& everywhere) {
    if (!options_.definitions) {
      return;
    }
    active_.insert(table);
    const IndexDefinition* const declaration = declared(table);
    const auto first = std::find_if(everywhere.on_shard.begin(), everywhere.on_shard.end(),
                                    [](const auto& index) { return index.has_value(); });
    const auto shard = static_cast<std::uint32_t>(first - everywhere.on_shard.begin());
    const DeclaredIndex compared = shard::compare_with_catalogs(table, declaration, everywhere);
    if (compared.kind == DeclaredIndex::Kind::dropping && declaration != nullptr) {
      definition_differs(table, 0, "it is declared, but is being dropped");
    } else if (compared.kind == DeclaredIndex::Kind::extra) {
      definition_differs(table, shard, "it is active, but no definition declares it");
    }
    for (const std::string& difference : compared.differences) {
      definition_differs(table, shard, difference);
    }
  }

  void check_all_declared_exist() {
    if (!options_.definitions) {
      return;
    }
    for (const IndexDefinition& definition : *options_.definitions) {
      const auto& tables = options_.tables;
      const bool asked_for =
          tables.empty() || std::find(tables.begin(), tables.end(), definition.table) != tables.end();
      if (asked_for && !active_.contains(definition.table)) {
        definition_differs(definition.table, 0, "it is declared, but does not exist");
      }
    }
  }

  // Shards differ for a moment while an index is created, published or dropped. Therefore this function looks again
  // several times before a difference counts as a finding.
  shard::IndexEverywhere stable(shard::IndexEverywhere everywhere, const std::string& table) {
    constexpr int attempts = 10;
    constexpr auto between = std::chrono::milliseconds(300);
    for (int i = 1; i < attempts && !differences(everywhere).empty(); ++i) {
      job_.checkpoint();
      std::this_thread::sleep_for(between);
      everywhere = shard::look_up_index(shards_, table, shards_.deadline());
    }
    return everywhere;
  }

  // Returns true if the index cannot be verified in its state. A verification of all indexes skips such an index. If
  // the user named it, this function throws an error.
  bool is_left_out(const std::string& table, const shard::IndexEverywhere& everywhere) {
    const bool dropping = everywhere.is_being_dropped();
    const bool building =
        !dropping && std::all_of(everywhere.on_shard.begin(), everywhere.on_shard.end(),
                                 [](const auto& index) { return !index || index->state == IndexState::building; });
    if (building && options_.definitions_only) {
      shards_.warnings().give(
          {"index is still building", {{"index", table}}, fmt::format("run `looseleaf backfill {}`", table)});
      return false;
    }
    if (!dropping && (!building || as_part_.building_too)) {
      return false;
    }
    const char* what = dropping ? "index is being dropped" : "index is still building and was not verified";
    const std::string hint = dropping ? fmt::format("run `looseleaf drop-index {}` to finish that", table)
                                      : fmt::format("run `looseleaf backfill {}`, which verifies it", table);
    if (!options_.tables.empty()) {
      throw Error(ErrorCode::bad_index, what, {{"index", table}}, hint);
    }
    shards_.warnings().give({what, {{"index", table}}, hint});
    return true;
  }

  struct CatalogDifference {
    std::uint32_t shard;
    bool state_only;
    std::string what;
  };

  static std::vector<CatalogDifference> differences(const shard::IndexEverywhere& everywhere) {
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
        found.push_back({shard, false, "this shard's catalog has a different definition or generation than shard 0's"});
      } else if (other->state != first->state) {
        found.push_back(
            {shard, true,
             fmt::format("its state is {}, but {} on shard 0", to_string(other->state), to_string(first->state))});
      }
    }
    return found;
  }

  // Returns true if the index is the same on all shards, so that its rows can be compared. Its state may differ.
  bool check_catalogs(const std::string& table, const shard::IndexEverywhere& everywhere) {
    bool comparable = true;
    for (const CatalogDifference& difference : differences(everywhere)) {
      findings_.add({FindingKind::catalog_differs, table, difference.shard, {}, difference.what});
      comparable = comparable && difference.state_only;
    }
    return comparable;
  }

  // Reports tables that are not as their definitions say, and leaves their indexes out.
  void leave_out_differing(std::vector<shard::CatalogIndex>& indexes) {
    const auto found = table_differences(shards_, job_, [&](sql::Flavour flavour) {
      std::vector<std::string> creates;
      std::transform(indexes.begin(), indexes.end(), std::back_inserter(creates),
                     [&](const auto& index) { return shard::create_index_table(index.definition, flavour); });
      return creates;
    });
    std::erase_if(indexes, [&](const shard::CatalogIndex& index) {
      const auto differs = [&](const Finding& finding) { return finding.index == index.definition.table; };
      if (std::none_of(found.begin(), found.end(), differs)) {
        return false;
      }
      if (!is_still_there(index)) {
        if (!options_.tables.empty()) {
          throw Error(ErrorCode::unavailable, "an index was dropped while it was verified",
                      {{"index", index.definition.table}}, "run the command again");
        }
        return true;
      }
      findings_.leave_out(index.definition.table);
      std::for_each(found.begin(), found.end(), [&](const Finding& finding) {
        if (differs(finding)) {
          findings_.add(finding);
        }
      });
      return true;
    });
  }

  // Returns false if the index was dropped, or created again, since it was looked up.
  bool is_still_there(const shard::CatalogIndex& index) {
    const std::string& table = index.definition.table;
    const auto now = stable(shard::look_up_index(shards_, table, shards_.deadline()), table);
    return !now.is_being_dropped() && now.on_shard.front() && now.on_shard.front()->generation == index.generation;
  }

  shard::Shards& shards_;
  const VerifyOptions& options_;
  job::Job& job_;
  const AsPart& as_part_;
  Findings& findings_;
  std::set<std::string> active_;  // tables seen in a catalog
};

}  // namespace

bool tool_tables_are_in_order(shard::Shards& shards, const VerifyOptions& options, job::Job& job, Findings& findings) {
  bool in_order = true;
  for (const Finding& finding : table_differences(shards, job, [](sql::Flavour) { return shard::tool_tables(); })) {
    // Without this table, a verification that reads entities fails and says so.
    if (finding.index != "entities" || finding.values != shard::no_table || options.definitions_only) {
      findings.add(finding);
      in_order = false;
    }
  }
  return in_order;
}

std::vector<shard::CatalogIndex> verifiable_indexes(shard::Shards& shards, const VerifyOptions& options, job::Job& job,
                                                    const AsPart& as_part, Findings& findings) {
  return Choice(shards, options, job, as_part, findings).choose();
}

}  // namespace looseleaf::verify

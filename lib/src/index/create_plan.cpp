// Rehearses create-index: the operation itself runs on sessions that only record what they would change or lock.
#include "index/create_plan.hpp"

#include <algorithm>
#include <map>

#include "index/create_index.hpp"
#include "index/declared_indexes.hpp"
#include "index/index_tables.hpp"
#include "sql/rehearsal.hpp"

namespace looseleaf::index {
namespace {

using Steps = std::vector<CreatePlan::Step>;

// Adds a step without SQL for each state in which shards have the index. Returns the shards that lack it.
std::vector<std::uint32_t> add_active(Steps& steps, const KnownIndex& everywhere) {
  std::vector<std::uint32_t> lacking;
  std::map<IndexState, std::vector<std::uint32_t>> active;
  for (std::uint32_t shard = 0; shard < everywhere.on_shard.size(); ++shard) {
    const auto& index = everywhere.on_shard[shard];
    (index ? active[index->state] : lacking).push_back(shard);
  }
  for (const auto& [state, shards] : active) {
    steps.push_back({shards, {}, "active, state " + to_string(state)});
  }
  return lacking;
}

void add_statements(Steps& steps, const std::vector<sql::Rehearsal::Recorded>& statements) {
  std::optional<std::uint32_t> shard;
  for (const auto& [place, sql] : statements) {
    if (shard != place) {
      shard = place;
      steps.push_back({{place}, {}, {}});
    }
    std::string& text = steps.back().sql;
    text += (text.empty() ? "" : "\n") + sql + ";";
  }
}

}  // namespace

std::vector<CreatePlan> plan_indexes(shard::Shards& shards, const std::vector<IndexDefinition>& given) {
  const std::vector<IndexDefinition> definitions = checked(given);
  shards.check_identities();
  sql::Rehearsal rehearsal;
  const auto stage = shard::Shards::beside(shards);
  stage->sessions().rehearse(rehearsal);
  std::vector<CreatePlan> plans;
  for (const IndexDefinition& definition : definitions) {
    const KnownIndex before = look_up_with_intents(shards, definition.table, shards.deadline());
    const CreateReport report = create_index(*stage, definition);
    CreatePlan plan{definition.table, {}};
    const std::vector<std::uint32_t> lacking = add_active(plan.steps, before);
    add_statements(plan.steps, rehearsal.take());
    if (!lacking.empty()) {
      const bool ready = report.state == IndexState::ready;
      plan.steps.push_back(
          {lacking,
           {},
           ready ? "will be registered as `building`, then as `ready`" : "will be registered as `building`"});
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace looseleaf::index

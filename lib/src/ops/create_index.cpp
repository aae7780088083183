// create-index: an intent, the tables, then the catalogs, each step repeatable.
#include "ops/create_index.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/random.hpp"
#include "base/text.hpp"
#include "ops/index_tables.hpp"
#include "sql/literals.hpp"
#include "store/fence.hpp"
#include "store/schema.hpp"
#include "store/steps.hpp"

namespace looseleaf::ops {
namespace {

using store::Step;
namespace steps = store::steps;

// Refuses what a definition cannot be created beside.
void check(store::Shards& shards, const IndexDefinition& definition, const IndexEverywhere& everywhere,
           const base::Deadline& deadline) {
  if (everywhere.drop_intent) {
    throw Error(ErrorCode::bad_index, "an index of this name is being dropped", {{"index", definition.table}},
                fmt::format("run `looseleaf drop-index {}` to finish that first", definition.table));
  }
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    const auto& index = everywhere.on_shard[shard];
    if (index && index->definition != definition) {
      Error error(ErrorCode::bad_definition, "index exists with another definition", shards.where(shard),
                  "drop it first, or give the new index another name");
      throw error.with("index", definition.table)
          .with("in force", index->definition.canonical_json())
          .with("given", definition.canonical_json());
    }
    if (index && index->generation != everywhere.generation()) {
      Error error(ErrorCode::bad_index, "shards have different generations of this index", shards.where(shard),
                  "drop it and create it again");
      throw error.with("index", definition.table);
    }
  }
  for (const std::string& name : all_indexes(shards, deadline)) {
    if (name != definition.table && base::ascii_lower(name) == base::ascii_lower(definition.table)) {
      throw Error(ErrorCode::bad_definition, "index differs from another one only in case",
                  {{"index", definition.table}, {"other", name}}, "some servers cannot tell such tables apart");
    }
  }
}

bool in_force_everywhere(const IndexEverywhere& everywhere) {
  return std::all_of(everywhere.on_shard.begin(), everywhere.on_shard.end(),
                     [](const auto& index) { return index.has_value(); });
}

// The least complete state of all shards.
IndexState state_of(const IndexEverywhere& everywhere) {
  for (const auto& index : everywhere.on_shard) {
    if (index->state != IndexState::ready) {
      return index->state;
    }
  }
  return IndexState::ready;
}

class Creation {
 public:
  Creation(store::Shards& shards, const IndexDefinition& definition)
      : shards_(shards), definition_(definition), deadline_(shards.deadline()) {}

  CreateReport run() {
    const store::JobLock lock(shards_, "catalog", definition_.table);
    const IndexEverywhere everywhere = look_up_index(shards_, definition_.table, deadline_);
    check(shards_, definition_, everywhere, deadline_);
    if (in_force_everywhere(everywhere)) {
      remove_intent(*everywhere.generation());
      return {definition_.table, false, state_of(everywhere)};
    }
    generation_ = choose_generation(everywhere);
    write_intent(lock.token());
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      create_table(shard);
    }
    bool empty_store = true;
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      empty_store = publish(shard) && empty_store;
    }
    if (empty_store) {
      set_state_everywhere(shards_, definition_.table, generation_, {IndexState::building}, IndexState::ready,
                           steps::create_ready, deadline_);
    } else if (everywhere.in_any_catalog()) {
      build_again();
    }
    remove_intent(generation_);
    return {definition_.table, true, empty_store ? IndexState::ready : IndexState::building};
  }

 private:
  // A crashed create of the same definition goes on under its generation; one of another definition is undone.
  std::uint64_t choose_generation(const IndexEverywhere& everywhere) {
    if (everywhere.in_any_catalog()) {
      return *everywhere.generation();
    }
    if (everywhere.create_intent) {
      if (everywhere.create_intent->detail == definition_.canonical_json()) {
        return everywhere.create_intent->generation;
      }
      for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
        drop_leftover(shard, everywhere.create_intent->generation);
      }
    }
    return base::random_u64();
  }

  void drop_leftover(std::uint32_t shard, std::uint64_t generation) {
    store::with_shard(shards_, shard, deadline_, [&](sql::Connection& connection) {
      if (comment_of_table(connection, definition_.table) == store::table_comment(generation)) {
        connection.execute("DROP TABLE " + sql::quote_identifier(definition_.table));
      }
    });
  }

  void write_intent(std::uint64_t token) {
    store::JobRow intent;
    intent.job = "create";
    intent.table = definition_.table;
    intent.generation = generation_;
    intent.detail = definition_.canonical_json();
    intent.token = token;
    intent.holder = store::this_process();
    const Step step(steps::create_intent, 0);
    store::with_shard(shards_, 0, deadline_,
                      [&](sql::Connection& connection) { store::write_job(connection, intent); });
  }

  void remove_intent(std::uint64_t generation) {
    const Step step(steps::create_finish, 0);
    store::with_shard(shards_, 0, deadline_, [&](sql::Connection& connection) {
      store::remove_job(connection, "create", definition_.table, generation);
    });
  }

  void create_table(std::uint32_t shard) {
    const Step step(steps::create_table, shard);
    store::with_shard(shards_, shard, deadline_, [&](sql::Connection& connection) {
      const auto comment = comment_of_table(connection, definition_.table);
      if (!comment) {
        connection.execute(fmt::format("{} COMMENT='{}'", store::create_index_table(definition_, connection.flavour()),
                                       store::table_comment(generation_)));
      } else if (*comment != store::table_comment(generation_)) {
        throw Error(ErrorCode::bad_index, "a table of this name exists already, and is not of this index",
                    {{"table", definition_.table}, {"comment", *comment}},
                    "rename or drop that table, or give the index another name");
      }
    });
  }

  // A shard that joins late has lost the rows it held: where the index was ready it is not any more, and no backfill
  // under way can say otherwise.
  void build_again() {
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      store::with_fence_exclusive(shards_, shard, deadline_, [&](sql::Connection& connection, const store::Fence&) {
        static_cast<void>(store::set_index_state(connection, definition_.table, generation_, {IndexState::ready},
                                                 IndexState::building));
        store::remove_job(connection, "backfill", definition_.table, generation_);
      });
    }
  }

  // Puts the definition in force on one shard. True if that shard had no entity then: so none can be missed.
  bool publish(std::uint32_t shard) {
    const Step step(steps::create_publish, shard);
    bool empty = false;
    store::with_fence_exclusive(shards_, shard, deadline_, [&](sql::Connection& connection, const store::Fence&) {
      empty = connection.query("SELECT 1 FROM entities LIMIT 1").empty();
      store::add_index(connection, definition_, generation_, IndexState::building);
    });
    return empty;
  }

  store::Shards& shards_;
  const IndexDefinition& definition_;
  const base::Deadline deadline_;
  std::uint64_t generation_ = 0;
};

}  // namespace

std::vector<CreateReport> create_indexes(store::Shards& shards, const std::vector<IndexDefinition>& definitions) {
  shards.check_identities();
  std::vector<CreateReport> reports;
  for (const IndexDefinition& definition : definitions) {
    reports.push_back(Creation(shards, definition).run());
  }
  return reports;
}

std::vector<CreatePlan> plan_indexes(store::Shards& shards, const std::vector<IndexDefinition>& definitions) {
  const base::Deadline deadline = shards.deadline();
  std::vector<CreatePlan> plans;
  for (const IndexDefinition& definition : definitions) {
    const IndexEverywhere everywhere = look_up_index(shards, definition.table, deadline);
    check(shards, definition, everywhere, deadline);
    CreatePlan plan;
    plan.table = definition.table;
    for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
      CreatePlan::Step step;
      if (everywhere.on_shard[shard]) {
        step.note = "in force, state " + to_string(everywhere.on_shard[shard]->state);
      } else {
        const store::Lease lease = shards.connect(shard, deadline);
        step.sql = store::create_index_table(definition, lease->flavour()) + ";";
        step.note = "to be created";
      }
      const auto same = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const CreatePlan::Step& other) {
        return other.sql == step.sql && other.note == step.note;
      });
      if (same == plan.steps.end()) {
        step.shards = {shard};
        plan.steps.push_back(std::move(step));
      } else {
        same->shards.push_back(shard);
      }
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace looseleaf::ops

// create-index writes an intent, creates the tables, then changes the catalogs. Each step can be repeated.
#include "index/create_index.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/random.hpp"
#include "base/text.hpp"
#include "index/declared_indexes.hpp"
#include "index/index_change.hpp"
#include "index/index_tables.hpp"
#include "model/definition_differences.hpp"
#include "shard/entity_rows.hpp"
#include "shard/schema.hpp"
#include "shard/steps.hpp"

namespace looseleaf::index {
namespace {

using shard::Step;
namespace steps = shard::steps;

Error other_definition(const shard::Shards& shards, std::uint32_t shard, const IndexDefinition& active,
                       const IndexDefinition& given) {
  Error::Context context = shards.where(shard);
  context.emplace_back("index", given.table);
  for (const std::string& difference : model::definition_differences(active, given)) {
    context.emplace_back("difference", difference);  // not Error::with(), which would keep only the first difference
  }
  return {ErrorCode::bad_definition, "index exists with another definition", std::move(context),
          "drop it first, or give the new index another name"};
}

// Throws if the index cannot be created because of an existing index.
void check(shard::Shards& shards, const IndexDefinition& definition, const KnownIndex& everywhere,
           const base::Deadline& deadline) {
  if (everywhere.drop_has_begun()) {
    throw Error(ErrorCode::bad_index, "an index with this name is being dropped", {{"index", definition.table}},
                fmt::format("run `looseleaf drop-index {}` to finish that first", definition.table));
  }
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    const auto& index = everywhere.on_shard[shard];
    if (index && index->definition != definition) {
      throw other_definition(shards, shard, index->definition, definition);
    }
    if (index && index->generation != everywhere.generation()) {
      Error error(ErrorCode::bad_index, "shards have different generations of this index", shards.where(shard),
                  fmt::format("run `looseleaf drop-index {}` and create it again", definition.table));
      throw error.with("index", definition.table);
    }
  }
  for (const std::string& name : shard::all_indexes(shard::read_catalogs(shards, deadline))) {
    if (name != definition.table && base::ascii_lower(name) == base::ascii_lower(definition.table)) {
      throw Error(ErrorCode::bad_definition, "index name differs from another one only in case",
                  {{"index", definition.table}, {"other", name}},
                  "choose another name; some servers cannot tell such tables apart");
    }
  }
}

bool exists_everywhere(const KnownIndex& everywhere) {
  return std::all_of(everywhere.on_shard.begin(), everywhere.on_shard.end(),
                     [](const auto& index) { return index.has_value(); });
}

// Returns the least complete state that the index has on any shard.
IndexState state_of(const KnownIndex& everywhere) {
  for (const auto& index : everywhere.on_shard) {
    if (index->state != IndexState::ready) {
      return index->state;
    }
  }
  return IndexState::ready;
}

class Creation {
 public:
  Creation(shard::Shards& shards, const IndexDefinition& definition)
      : shards_(shards), definition_(definition), change_(shards, job::create_job, definition.table) {}

  CreateReport run() {
    KnownIndex everywhere = look_up();
    if (exists_everywhere(everywhere) && !everywhere.create_intent) {
      return {definition_.table, false, state_of(everywhere)};
    }
    everywhere = claim(everywhere);
    const bool existed = exists_everywhere(everywhere);  // true if an earlier run died before its last steps
    if (!existed && everywhere.in_any_catalog()) {
      demote();
    }
    create_tables(everywhere.in_any_catalog());
    bool empty_store = true;
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      empty_store = publish(shard) && empty_store;
    }
    if (empty_store) {
      change_.set_state(generation_, {IndexState::building}, IndexState::ready, steps::create_ready);
    }
    change_.finish(steps::create_finish);
    const IndexState otherwise = existed ? state_of(everywhere) : IndexState::building;
    return {definition_.table, !existed, empty_store ? IndexState::ready : otherwise};
  }

 private:
  KnownIndex look_up() {
    KnownIndex everywhere = look_up_with_intents(shards_, definition_.table, shards_.deadline());
    check(shards_, definition_, everywhere, shards_.deadline());
    return everywhere;
  }

  // If an earlier create of the same definition crashed, this one continues with its generation. If the definition
  // differs, the earlier create is undone first. This happens under its own intent, so that another crash leaves no
  // unknown table.
  KnownIndex claim(const KnownIndex& before) {
    const std::optional<job::JobRow> left = before.create_intent;
    generation_ = before.generation_or_intent().value_or(base::random_u64());
    if (left && !before.in_any_catalog() && left->detail != definition_.canonical_json()) {
      change_.claim(left->generation, left->detail, steps::create_intent);
      look_up();  // throws if the other run has completed meanwhile; then its table is not a leftover
      for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
        change_.run_ddl(shard, steps::create_table,
                        [&](const sql::Database& database) { drop_leftover(database, left->generation); });
      }
      generation_ = base::random_u64();
    }
    change_.claim(generation_, definition_.canonical_json(), steps::create_intent);
    KnownIndex now = look_up();  // reads again, because no other process can change it now
    if (now.generation_or_intent() != generation_) {
      throw Error(ErrorCode::busy, "another process has just created this index", {{"index", definition_.table}},
                  "run the command again");
    }
    return now;
  }

  // If no catalog has the index yet, an error says how to remove what was begun.
  void create_tables(bool in_any_catalog) {
    try {
      for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
        change_.run_ddl(shard, steps::create_table, [&](const sql::Database& database) { create_table(database); });
      }
    } catch (Error& error) {
      if (!in_any_catalog && error.code() != ErrorCode::unavailable) {
        const std::string separator = error.hint().empty() ? "" : "; ";
        error.with_hint(fmt::format("{}{}`looseleaf drop-index {}` removes what was begun", error.hint(), separator,
                                    definition_.table));
      }
      throw;
    }
  }

  void drop_leftover(const sql::Database& database, std::uint64_t generation) const {
    if (comment_of_table(database, definition_.table) == shard::table_comment(generation)) {
      drop_index_table(database, definition_.table);
    }
  }

  void create_table(const sql::Database& database) const {
    const auto comment = comment_of_table(database, definition_.table);
    if (!comment) {
      database->execute(fmt::format("{} COMMENT='{}'",
                                    shard::create_index_table(definition_, database->facts().flavour),
                                    shard::table_comment(generation_)));
    } else if (*comment != shard::table_comment(generation_)) {
      throw Error(ErrorCode::bad_index, "a table with this name exists and does not belong to this index",
                  {{"table", definition_.table}, {"comment", *comment}},
                  "rename or drop that table, or give the index another name");
    }
  }

  // Sets a ready index back to `building` on all other shards, and deletes its backfill job. The shard that joins late
  // has lost its index rows, and its own entities were stored without index rows. This happens before the new shard has
  // the index, so that a repetition after a crash does it again.
  void demote() {
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      const Step step(steps::create_demote, shard);
      change_.change_catalog(shard, [&](const sql::Database& database) {
        static_cast<void>(shard::set_index_state(database, definition_.table, generation_, {IndexState::ready},
                                                 IndexState::building));
        job::remove_job(database, job::backfill_job, definition_.table, generation_);
      });
    }
  }

  // Adds the definition to the catalog of one shard. Returns true if the shard had no entity at that moment, so that no
  // row can be missing.
  bool publish(std::uint32_t shard) {
    const Step step(steps::create_publish, shard);
    bool empty = false;
    change_.change_catalog(shard, [&](const sql::Database& database) {
      empty = !shard::has_entities(database);
      shard::add_index(database, definition_, generation_, IndexState::building);
    });
    return empty;
  }

  shard::Shards& shards_;
  const IndexDefinition& definition_;
  IndexChange change_;
  std::uint64_t generation_ = 0;
};

// Returns true if every shard has the index with this definition, and no create or drop of it is under way or has died.
bool is_active(const KnownIndex& everywhere, const IndexDefinition& definition) {
  return !everywhere.create_intent && !everywhere.drop_has_begun() &&
         std::all_of(everywhere.on_shard.begin(), everywhere.on_shard.end(), [&](const auto& index) {
           return index && index->definition == definition && index->generation == everywhere.generation();
         });
}

}  // namespace

CreateReport create_index(shard::Shards& shards, const IndexDefinition& definition) {
  const KnownIndex everywhere = look_up_with_intents(shards, definition.table, shards.deadline());
  if (is_active(everywhere, definition)) {  // needs no lock
    return {definition.table, false, state_of(everywhere)};
  }
  return Creation(shards, definition).run();
}

std::vector<CreateReport> create_indexes(shard::Shards& shards, const std::vector<IndexDefinition>& given) {
  const std::vector<IndexDefinition> definitions = checked(given);
  shards.check_identities();
  std::vector<CreateReport> reports;
  for (const IndexDefinition& definition : definitions) {
    reports.push_back(create_index(shards, definition));
  }
  return reports;
}

}  // namespace looseleaf::index

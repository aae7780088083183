// drop-index stops queries first, then writers. Then it drops the tables, and last it deletes the catalog rows.
#include "index/drop_index.hpp"

#include <fmt/format.h>

#include "index/index_change.hpp"
#include "index/index_tables.hpp"
#include "shard/schema.hpp"
#include "shard/steps.hpp"
#include "sql/literals.hpp"

namespace looseleaf::index {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr int er_table_access_denied = 1142;

KnownIndex look_up_known_index(shard::Shards& shards, const std::string& table, const base::Deadline& deadline) {
  KnownIndex everywhere = look_up_with_intents(shards, table, deadline);
  if (!everywhere.generation_or_intent()) {
    throw shard::no_such_index(shards, table);
  }
  return everywhere;
}

class Drop {
 public:
  Drop(shard::Shards& shards, const std::string& table, bool keep_table)
      : shards_(shards), table_(table), keep_table_(keep_table) {}

  DropReport run() {
    IndexChange change(shards_, job::drop_job, table_);
    KnownIndex everywhere = look_up_known_index(shards_, table_, shards_.deadline());
    require_privileges(*everywhere.generation_or_intent());
    // Shards can have different generations after a restore, or after a command with a wrong cluster file.
    for (; everywhere.generation_or_intent(); everywhere = look_up_with_intents(shards_, table_, shards_.deadline())) {
      drop(change, everywhere);
    }
    return std::move(report_);
  }

 private:
  // Checks that the user may drop the tables while the index is still in use. The statements need the same privileges
  // and always fail: the table is not a view, and a table of that name exists.
  void require_privileges(std::uint64_t generation) const {
    const std::string name = sql::quote_identifier(table_);
    const std::string statement =
        keep_table_ ? fmt::format("RENAME TABLE {0} TO {0}", name) : fmt::format("DROP VIEW {}", name);
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
        if (comment_of_table(database, table_) != shard::table_comment(generation)) {
          return;
        }
        database.select();
        try {
          database->execute(statement);
        } catch (sql::ServerError& error) {
          if (error.number() == er_table_access_denied) {
            error.with_hint(error.hint() + "; nothing was changed");
            throw;
          }
          if (database->broken()) {
            throw;
          }
        }
      });
    }
  }

  void drop(IndexChange& change, const KnownIndex& before) {
    // An interrupted drop ends the way it began.
    if (keep_table_ && before.drop_intent && before.drop_intent->detail != "keep") {
      throw Error(ErrorCode::usage, "an earlier drop of this index has begun without --keep-table", {{"index", table_}},
                  "its tables may be gone already; run the command without --keep-table to complete that drop");
    }
    keep_table_ = before.drop_intent ? before.drop_intent->detail == "keep" : keep_table_;
    generation_ = *before.generation_or_intent();
    change.claim(generation_, keep_table_ ? "keep" : "", steps::drop_intent);
    // No query may use the index once a writer may have stopped maintaining it. So every shard gets the state
    // `dropping` before the first one gets `dropped`. If the drop is repeated, no state goes back: there is no way from
    // `dropped` to `dropping`.
    change.set_state(generation_, {IndexState::building, IndexState::ready}, IndexState::dropping,
                     steps::drop_stop_queries);
    change.set_state(generation_, {IndexState::dropping}, IndexState::dropped, steps::drop_stop_writers);
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      change.run_ddl(shard, steps::drop_table, [&](const sql::Database& database) { remove_table(database); });
    }
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      const Step step(steps::drop_catalog, shard);
      change.change_catalog(shard, [&](const sql::Database& database) {
        shard::remove_index(database, table_, generation_);
        job::remove_job(database, job::backfill_job, table_, generation_);
      });
    }
    change.finish(steps::drop_finish);
    if (is_kept_) {
      report_.kept.push_back(kept_name());
    }
  }

  // Drops or renames the table only if it is of this generation.
  void remove_table(const sql::Database& database) {
    const bool is_there = comment_of_table(database, table_) == shard::table_comment(generation_);
    if (is_there && !keep_table_) {
      drop_index_table(database, table_);
    } else if (is_there) {
      database->execute(
          fmt::format("RENAME TABLE {} TO {}", sql::quote_identifier(table_), sql::quote_identifier(kept_name())));
    }
    is_kept_ = is_kept_ || (keep_table_ && comment_of_table(database, kept_name()).has_value());
  }

  // Returns the table's name after the drop: at most 64 characters.
  [[nodiscard]] std::string kept_name() const {
    return fmt::format("{}_dropped_{:016x}", table_.substr(0, 64 - 25), generation_);
  }

  shard::Shards& shards_;
  const std::string& table_;
  bool keep_table_;
  bool is_kept_ = false;  // a shard has the table under its new name
  std::uint64_t generation_ = 0;
  DropReport report_;
};

}  // namespace

DropReport drop_index(shard::Shards& shards, const std::string& table, const DropOptions& options) {
  shards.check_identities();
  return Drop(shards, table, options.keep_table).run();
}

void require_indexes(shard::Shards& shards, const std::vector<std::string>& tables) {
  shards.check_identities();
  for (const std::string& table : tables) {
    static_cast<void>(look_up_known_index(shards, table, shards.deadline()));
  }
}

}  // namespace looseleaf::index

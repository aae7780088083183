// drop-index: queries stop first, then writers, then the tables go, then the catalog rows.
#include "ops/drop_index.hpp"

#include <fmt/format.h>

#include "ops/index_tables.hpp"
#include "sql/literals.hpp"
#include "store/fence.hpp"
#include "store/schema.hpp"
#include "store/steps.hpp"

namespace looseleaf::ops {
namespace {

using store::Step;
namespace steps = store::steps;

class Drop {
 public:
  Drop(store::Shards& shards, const std::string& table, bool keep_table)
      : shards_(shards), table_(table), keep_table_(keep_table), deadline_(shards.deadline()) {}

  void run() {
    const store::JobLock lock(shards_, "catalog", table_);
    const IndexEverywhere everywhere = look_up_index(shards_, table_, deadline_);
    if (!everywhere.generation()) {
      throw no_such_index(shards_, table_, deadline_);
    }
    generation_ = *everywhere.generation();
    // A drop that was interrupted ends as it began.
    keep_table_ = everywhere.drop_intent ? everywhere.drop_intent->detail == "keep" : keep_table_;
    write_intent(lock.token());
    // While any writer may not maintain the index any more, no query can use it: every shard says so before the first
    // shard's writers stop. (On a repetition nothing goes back: from `dropped` there is no way to `dropping`.)
    set_state_everywhere(shards_, table_, generation_, {IndexState::building, IndexState::ready}, IndexState::dropping,
                         steps::drop_stop_queries, deadline_);
    set_state_everywhere(shards_, table_, generation_, {IndexState::dropping}, IndexState::dropped,
                         steps::drop_stop_writers, deadline_);
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      remove_table(shard);
    }
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      const Step step(steps::drop_catalog, shard);
      store::with_fence_exclusive(shards_, shard, deadline_, [&](sql::Connection& connection, const store::Fence&) {
        store::remove_index(connection, table_, generation_);
        store::remove_job(connection, "backfill", table_, generation_);
      });
    }
    const Step step(steps::drop_finish, 0);
    store::with_shard(shards_, 0, deadline_, [&](sql::Connection& connection) {
      store::remove_job(connection, "create", table_, generation_);
      store::remove_job(connection, "drop", table_, generation_);
    });
  }

 private:
  void write_intent(std::uint64_t token) {
    store::JobRow intent;
    intent.job = "drop";
    intent.table = table_;
    intent.generation = generation_;
    intent.detail = keep_table_ ? "keep" : "";
    intent.token = token;
    intent.holder = store::this_process();
    const Step step(steps::drop_intent, 0);
    store::with_shard(shards_, 0, deadline_,
                      [&](sql::Connection& connection) { store::write_job(connection, intent); });
  }

  // Only a table of this generation is touched.
  void remove_table(std::uint32_t shard) {
    const Step step(steps::drop_table, shard);
    store::with_shard(shards_, shard, deadline_, [&](sql::Connection& connection) {
      if (comment_of_table(connection, table_) != store::table_comment(generation_)) {
        return;
      }
      const std::string name = sql::quote_identifier(table_);
      if (keep_table_) {
        connection.execute(fmt::format("RENAME TABLE {} TO {}", name, sql::quote_identifier(kept_name())));
      } else {
        connection.execute("DROP TABLE " + name);
      }
    });
  }

  // At most 64 characters.
  [[nodiscard]] std::string kept_name() const {
    return fmt::format("{}_dropped_{:016x}", table_.substr(0, 64 - 25), generation_);
  }

  store::Shards& shards_;
  const std::string& table_;
  bool keep_table_;
  const base::Deadline deadline_;
  std::uint64_t generation_ = 0;
};

}  // namespace

void drop_index(store::Shards& shards, const std::string& table, const DropOptions& options) {
  shards.check_identities();
  Drop(shards, table, options.keep_table).run();
}

}  // namespace looseleaf::ops

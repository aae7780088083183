// Writes intents on every shard, and runs DDL under a lock of the session that runs it.
#include "index/index_change.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "shard/access.hpp"
#include "shard/catalog.hpp"
#include "shard/fence.hpp"
#include "shard/steps.hpp"
#include "sql/literals.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::index {
namespace {

// The names of locks are server-wide and have at most 64 characters.
std::string name_of_lock(const shard::Shards& shards, std::uint32_t shard, const std::string& table) {
  return fmt::format("looseleaf.ddl.{:016x}",
                     base::fnv1a(shards.cluster().shards[shard].database + '\n' + base::ascii_lower(table)));
}

Error taken_over(const std::string& table) {
  return {ErrorCode::busy,
          "another process has begun to create or drop this index",
          {{"index", table}},
          "run `looseleaf status` to see the result"};
}

// Ends the session and thereby releases its locks.
class Closing {
 public:
  explicit Closing(shard::Lease& lease) : lease_(lease) {}
  ~Closing() { lease_.discard(); }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  shard::Lease& lease_;
};

}  // namespace

IndexChange::IndexChange(shard::Shards& shards, std::string job, std::string table)
    : shards_(shards), job_(std::move(job)), table_(std::move(table)), lock_(shards, "catalog", {table_}) {
  shard::require_write_access(shards_, shard::all_shards(shards_), shards_.deadline());
}

void IndexChange::claim(std::uint64_t generation, const std::string& detail, std::string_view step) {
  job::JobRow intent;
  intent.job = job_;
  intent.table = table_;
  intent.generation = generation;
  intent.detail = detail;
  intent.token = lock_.token();
  intent.holder = job::this_process();
  for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
    const shard::Step scope(step, shard);
    with_named_lock(shard, [&](const sql::Database& database) {
      sql::Transaction transaction(database);
      database->execute(fmt::format("DELETE FROM {} WHERE job IN ('create', 'drop') AND table_name = {}",
                                    database.table("looseleaf_progress"), sql::text_literal(table_)));
      job::write_job(database, intent);
      database->pretend(query_for_token(database), [&] { return sql::Result({fmt::format("{}", lock_.token())}, 1); });
      const shard::Step commit(shard::steps::intent_commit, shard);
      transaction.commit();
    });
  }
  const bool still_ours = shard::read_shard(shards_, 0, shards_.deadline(),
                                            [&](const sql::Database& database) { return is_ours(database); });
  if (!still_ours) {  // another run has started at shard 0 since
    for (std::uint32_t shard = shards_.count(); shard-- > 0;) {
      remove_intent(shard);
    }
    throw taken_over(table_);
  }
}

void IndexChange::change_catalog(std::uint32_t shard, const std::function<void(const sql::Database&)>& work) {
  keep_lock();
  shard::with_fence_exclusive(shards_, shard, shards_.deadline(),
                              [&](const sql::Database& database, const shard::Fence& fence) {
                                shard::require_write_access(shards_, shard, database, fence);
                                if (!is_ours(database)) {
                                  throw taken_over(table_);
                                }
                                work(database);
                              });
}

void IndexChange::set_state(std::uint64_t generation, const std::vector<IndexState>& from, IndexState to,
                            std::string_view step) {
  for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
    const shard::Step scope(step, shard);
    change_catalog(shard, [&](const sql::Database& database) {
      static_cast<void>(shard::set_index_state(database, table_, generation, from, to));
    });
  }
}

// Whether another run has begun is decided by the intent. The lock only makes that rare, and names the holder.
void IndexChange::keep_lock() {
  try {
    lock_.keep_alive();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::busy) {
      throw;
    }
  }
}

std::string IndexChange::query_for_token(const sql::Database& database) const {
  return fmt::format("SELECT token FROM {} WHERE job = '{}' AND table_name = {} FOR UPDATE",
                     database.table("looseleaf_progress"), job_, sql::text_literal(table_));
}

// If a transaction is open, the row stays locked until it ends.
bool IndexChange::is_ours(const sql::Database& database) const {
  const sql::Result intent = database->query(query_for_token(database));
  return !intent.empty() && intent.unsigned_integer(0, 0) == lock_.token();
}

void IndexChange::run_ddl(std::uint32_t shard, std::string_view step,
                          const std::function<void(const sql::Database&)>& work) {
  with_named_lock(shard, [&](const sql::Database& database) {
    if (!is_ours(database)) {
      throw taken_over(table_);
    }
    database.select();
    const shard::Step scope(step, shard);
    work(database);
  });
}

void IndexChange::finish(std::string_view step) {
  for (std::uint32_t shard = shards_.count(); shard-- > 0;) {
    const shard::Step scope(step, shard);
    remove_intent(shard);
  }
}

void IndexChange::remove_intent(std::uint32_t shard) {
  keep_lock();
  shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
    database->execute(fmt::format("DELETE FROM {} WHERE job = '{}' AND table_name = {} AND token = {}",
                                  database.table("looseleaf_progress"), job_, sql::text_literal(table_),
                                  lock_.token()));
  });
}

// The lock belongs to the session, so it is held as long as a statement of this session runs.
void IndexChange::with_named_lock(std::uint32_t shard, const std::function<void(const sql::Database&)>& work) {
  keep_lock();
  const std::string name = name_of_lock(shards_, shard, table_);
  const base::Deadline deadline = shards_.deadline();
  shard::on_shard(shards_, shard, [&] {
    sql::with_retries(deadline, [&] {
      shard::Lease lease = shards_.connect(shard, deadline);
      const Closing closing(lease);
      if (!job::get_named_lock(*lease, name, deadline)) {
        throw sql::ServerError(
            sql::ErrorClass::conflict, 0, ErrorCode::unavailable, "another process keeps changing this index's table",
            {{"index", table_}},
            "run `looseleaf status` to see which one; if it names none, a statement whose session was "
            "lost is still at work: run the command again later");
      }
      work(*lease);
    });
  });
}

}  // namespace looseleaf::index

// Stores buffered writes once the shards that they need answer.
#include "flush/flush.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "codec/body.hpp"
#include "flush/buffer_queue.hpp"
#include "model/entity.hpp"
#include "shard/access.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/placement.hpp"
#include "shard/statements.hpp"
#include "shard/steps.hpp"
#include "sql/errors.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"
#include "write/encode.hpp"
#include "write/put.hpp"

namespace looseleaf::flush {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr std::size_t batch_writes = shard::max_ids;  // of all servers together
constexpr std::uint64_t batch_bytes = 1 << 20;        // of bodies, unless a single one is larger
constexpr std::size_t receipts_at_once = shard::max_ids;
constexpr std::size_t longest_reason = 1000;  // characters, the width of the column

// Says what the error says, and in which index it is so; the id and the place in the input are known otherwise.
std::string reason_of(const Error& error) {
  std::string reason = error.what();
  for (const auto& [key, value] : error.context()) {
    if (key != "id") {
      reason += fmt::format(", {} {}", key, value);
    }
  }
  return reason;
}

// Returns true if other writes would fail in the same way, so that they are to wait for the next flush.
bool is_of_a_shard(const Error& error) {
  return error.code() == ErrorCode::unavailable || error.code() == ErrorCode::frozen ||
         error.code() == ErrorCode::moved || error.code() == ErrorCode::outcome_unknown;
}

class Flush {
 public:
  Flush(shard::Shards& shards, job::Job& job, FlushReport& report)
      : shards_(shards), job_(job), report_(report), writer_(shards) {}

  void run(const Counts& counts) {
    for (const auto& [shard, count] : counts) {
      if (count.receipts > 0) {
        decided_on_.insert(shard);
      }
      if (count.copies > 0) {
        with_copies_.push_back(shard);
      }
    }
    settle();  // what an earlier flush has left
    BufferQueue queue(shards_, job_, with_copies_, report_.failures);
    std::uint64_t bytes = 0;
    while (auto write = queue.next()) {
      // A repeated id begins the next batch, because its first write comes first.
      if (batch_.size() == batch_writes || bytes + write->body_size > batch_bytes || ids_.contains(write->id)) {
        store_batch();
        bytes = 0;
      }
      if (blocked_.contains(shard_of(*write)) || left_.contains(write->id)) {
        leave(*write);
        continue;
      }
      bytes += write->body_size;
      ids_.insert(write->id);
      batch_.push_back(*std::move(write));
    }
    store_batch();
    report_.left_is_known = queue.complete();
    settle();
  }

 private:
  [[nodiscard]] std::uint32_t shard_of(const shard::BufferedWrite& write) const {
    return shard::shard_of(write.id, shards_.count());
  }

  // Returns true if it makes no sense to ask this shard once more.
  [[nodiscard]] bool is_out(std::uint32_t shard) const {
    const auto failure = report_.failures.find(shard);
    return failure != report_.failures.end() && concerns(failure->second, shard);
  }

  // Returns true if all writes of the shard would fail. If the error names another one, not all may need that.
  [[nodiscard]] bool concerns(const Error& error, std::uint32_t shard) const {
    return is_of_a_shard(error) &&
           (server::shard_named_by(error).value_or(shard) == shard || shards_.sessions().is_failing(shard));
  }

  void add_failure(std::uint32_t shard, const Error& error) {
    if (concerns(error, shard)) {
      blocked_.insert(shard);
    } else if (is_of_a_shard(error)) {
      failed_now_.emplace(server::shard_named_by(error).value_or(shard), error);
    }
    report_.failures.emplace(shard, error);
  }

  // Returns why the write cannot be stored now, if two transactions of this flush have shown that: one may have met a
  // single row that somebody has locked.
  [[nodiscard]] const Error* known_failure(const write::Write& write) const {
    if (write.expected && !failures_.empty()) {
      for (const shard::PlacedRow& row : write.expected->rows) {
        const auto found = failures_.find(row.shard);
        if (found != failures_.end() && found->second.size() > 1) {
          return &found->second.front();
        }
      }
    }
    return nullptr;
  }

  // A later write of this id must not overtake it.
  void leave(const shard::BufferedWrite& write) {
    ++report_.left;
    if (!blocked_.contains(shard_of(write))) {
      left_.insert(write.id);
    }
  }

  void store_batch() {
    read_bodies();
    std::map<std::uint32_t, OnServer> by_server;
    for (shard::BufferedWrite& write : batch_) {
      by_server[shards_.sessions().connector().server_of(shard_of(write))].buffered.push_back(&write);
    }
    std::vector<std::function<void()>> tasks;
    for (auto& [_, on_server] : by_server) {
      job_.checkpoint();
      encode(on_server);
      tasks.emplace_back([this, &on_server] { store(on_server.writes); });
    }
    base::run_all(tasks);
    for (const auto& [_, on_server] : by_server) {
      take_all(on_server);
    }
    batch_.clear();
    ids_.clear();
  }

  // Removes those that were flushed by another process meanwhile, or cannot be read.
  void read_bodies() {
    std::map<std::uint32_t, std::vector<std::uint64_t>> tokens;
    for (const shard::BufferedWrite& write : batch_) {
      tokens[write.read_from].push_back(write.place.token);
    }
    std::map<std::uint64_t, std::string> bodies;
    std::set<std::uint32_t> unread;
    for (const auto& [shard, of_shard] : tokens) {
      try {
        bodies.merge(shard::read_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
          return shard::read_copies(database, of_shard);
        }));
      } catch (const Error& error) {
        report_.failures.emplace(shard, error);
        unread.insert(shard);
      }
    }
    std::erase_if(batch_, [&](shard::BufferedWrite& write) {
      const auto body = bodies.find(write.place.token);
      if (body != bodies.end()) {
        write.body = std::move(body->second);
        return false;
      }
      if (unread.contains(write.read_from)) {
        leave(write);
      }
      return true;
    });
  }

  // The writes of one server's entities.
  struct OnServer {
    std::vector<shard::BufferedWrite*> buffered;
    std::vector<WriteResult> results;  // of these
    std::vector<write::Write> writes;  // of those that can be tried, sorted
  };

  void encode(OnServer& on_server) {
    load_catalogs(on_server.buffered);
    on_server.results.resize(on_server.buffered.size());
    for (std::size_t i = 0; i < on_server.buffered.size(); ++i) {
      const shard::BufferedWrite& buffered = *on_server.buffered[i];
      WriteResult& result = on_server.results[i];
      result.id = buffered.id;
      if (auto write = write::encode_stored(shards_, buffered.body, result)) {
        write->condition = {WriteCondition::Kind::absent, {}, false};
        write->buffered = &buffered;
        if (const Error* const known = known_failure(*write)) {
          result.status = WriteStatus::failed;
          result.error = *known;
        } else {
          on_server.writes.push_back(*std::move(write));
        }
      }
    }
    std::sort(on_server.writes.begin(), on_server.writes.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    if (!on_server.writes.empty()) {
      job_.pace(shard_of(*on_server.writes.front().buffered), on_server.writes.size());
    }
  }

  // Puts as many into one transaction as may be. Servers do this side by side.
  void store(const std::vector<write::Write>& writes) {
    for (std::span<const write::Write> rest(writes); !rest.empty();) {
      const auto batch = rest.first(size_of_batch(rest));
      writer_.write_batch(batch, shards_.deadline());
      rest = rest.subspan(batch.size());
    }
  }

  void take_all(const OnServer& on_server) {
    for (std::size_t i = 0; i < on_server.buffered.size(); ++i) {
      take(*on_server.buffered[i], on_server.results[i]);
    }
    for (const auto& [shard, error] : std::exchange(failed_now_, {})) {
      failures_[shard].push_back(error);
    }
  }

  // Without the catalogs it is not known how many rows the writes have. What fails here fails the put, too.
  void load_catalogs(const std::vector<shard::BufferedWrite*>& buffered) {
    const base::Deadline deadline = shards_.deadline();
    for (const shard::BufferedWrite* write : buffered) {
      try {
        static_cast<void>(shards_.catalog(shard_of(*write), deadline));
      } catch (const Error&) {
        return;
      }
    }
  }

  // Returns how many of the writes one transaction should have.
  static std::size_t size_of_batch(std::span<const write::Write> writes) {
    std::size_t size = 1;
    for (std::size_t rows = writes.front().row_count(); size < writes.size(); ++size) {
      rows += writes[size].row_count();
      if (rows > write::batch_rows) {
        break;
      }
    }
    return size;
  }

  void take(const shard::BufferedWrite& write, const WriteResult& result) {
    switch (result.status) {
      case WriteStatus::stored:
        ++report_.stored;
        decided_on_.insert(shard_of(write));
        return;
      case WriteStatus::unchanged:  // it was decided before
        return;
      case WriteStatus::exists:
      case WriteStatus::rejected:
        refuse(write, result);
        return;
      case WriteStatus::buffered:
      case WriteStatus::not_found:
      case WriteStatus::changed:
      case WriteStatus::failed:
      case WriteStatus::unknown:
        break;
    }
    if (result.error) {
      add_failure(shard_of(write), *result.error);
    }
    leave(write);
  }

  void refuse(const shard::BufferedWrite& write, const WriteResult& result) {
    const std::uint32_t shard = shard_of(write);
    try {
      const base::Deadline deadline = shards_.deadline();
      Decided ours = Decided::by_others;
      const Decided decided = sql::with_retries(deadline, [&] {
        try {
          return refuse(write, result, deadline, ours);
        } catch (const shard::AboutToMove& move) {
          shard::undo_if_overdue(shards_, move, deadline);
          throw;
        }
      });
      switch (decided == Decided::by_others ? ours : decided) {
        case Decided::stored:
          ++report_.stored;
          break;
        case Decided::refused:
          ++report_.refused;
          break;
        case Decided::by_others:
          break;
        case Decided::not_yet:
          leave(write);
          return;
      }
      decided_on_.insert(shard);
    } catch (const Error& error) {
      add_failure(shard, error);
      leave(write);
    }
  }

  enum class Decided { stored, refused, by_others, not_yet };

  // flush.refuse: notes on the entity's shard why the write was refused, or that its text is stored. Of an entity that
  // exists it looks again, under the lock: what the put saw may have been forgotten with a server that died, or
  // deleted. Sets `ours` to what an attempt has decided, because its COMMIT may succeed although the answer is lost.
  Decided refuse(const shard::BufferedWrite& write, const WriteResult& result, const base::Deadline& deadline,
                 Decided& ours) {
    const std::uint32_t shard = shard_of(write);
    const shard::Lease copy = shards_.connect(write.read_from, deadline, shard::Purpose::index_writes);
    const shard::Lease lease = shards_.connect(shard, deadline);
    const Step step(steps::flush_refuse, shard);
    return shard::on_shard(shards_, shard, [&] {
      sql::Transaction transaction(*lease);
      const shard::Fence fence = shard::lock_fence_shared(*lease);
      shard::require_write_access(shards_, shard, *lease, fence);
      if (shard::statement_size(write.body.size()) > lease->facts().max_allowed_packet) {
        throw Error(ErrorCode::server, "a buffered entity exceeds the server's max_allowed_packet",
                    {{"id", to_string(write.id)}}, "raise max_allowed_packet on every server of the cluster");
      }
      std::optional<std::string> reason;
      if (result.status == WriteStatus::rejected) {
        reason = base::utf8_prefix(reason_of(*result.error), longest_reason);
      } else {
        const auto row = shard::read_entity(*lease, write.id, shard::Lock::shared);
        if (!row || !row->body) {
          return Decided::not_yet;
        }
        if (!codec::have_same_text(*row->body, write.body, model::max_body_size)) {
          reason = "the entity exists already, with another text";
        }
      }
      if (!shard::insert_refusal(*lease, write, reason) ||
          !shard::missing_copies(*copy, {&write.place.token, 1}).empty()) {
        return Decided::by_others;
      }
      ours = reason ? Decided::refused : Decided::stored;
      transaction.commit();
      return ours;
    });
  }

  // Deletes the copies of the writes that were decided, and then their receipts.
  void settle() {
    for (const std::uint32_t shard : decided_on_) {
      if (is_out(shard)) {
        continue;
      }
      try {
        settle(shard);
      } catch (const sql::ServerError& error) {
        report_.failures.emplace(shard, error);
      }
    }
    decided_on_.clear();
  }

  void settle(std::uint32_t shard) {
    for (std::uint64_t above = 0;;) {
      std::optional<std::uint64_t> last;
      const std::vector<shard::Receipt> receipts =
          shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
            auto found = shard::list_receipts(database, above, receipts_at_once);
            last = found.empty() ? std::nullopt : std::optional(found.back().token);
            std::erase_if(found, [&](const shard::Receipt& receipt) { return waits_for_copy(receipt); });
            if (!found.empty()) {
              // Another process may have committed them just now. Once the copies are deleted, a server that forgot
              // them would have lost the entities.
              shard::make_durable(database, shard);
            }
            return found;
          });
      if (!last) {
        return;
      }
      above = *last;
      job_.checkpoint();
      settle(shard, receipts);
    }
  }

  // Returns true if a shard that may have a copy does not answer, and no other has any: the receipt stays as it is.
  [[nodiscard]] bool waits_for_copy(const shard::Receipt& receipt) const {
    const auto is_done = [&](std::uint32_t shard) {
      return is_out(shard) || !std::binary_search(with_copies_.begin(), with_copies_.end(), shard);
    };
    const auto& [first, second] = receipt.copies;
    return (is_out(first) || (second && is_out(*second))) && is_done(first) && (!second || is_done(*second));
  }

  void settle(std::uint32_t shard, const std::vector<shard::Receipt>& receipts) {
    std::map<std::uint32_t, std::vector<std::uint64_t>> tokens;  // by the shard that has copies
    std::set<std::uint64_t> settled;
    for (const shard::Receipt& receipt : receipts) {
      settled.insert(receipt.token);
      tokens[receipt.copies.first].push_back(receipt.token);
      if (receipt.copies.second) {
        tokens[*receipt.copies.second].push_back(receipt.token);
      }
    }
    for (const auto& [place, of_place] : tokens) {
      if (!delete_copies(place, of_place)) {
        std::for_each(of_place.begin(), of_place.end(), [&](std::uint64_t token) { settled.erase(token); });
      }
    }
    const std::vector<std::uint64_t> done(settled.begin(), settled.end());
    if (done.empty()) {
      return;
    }
    shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
      const Step step(steps::flush_settle, shard);
      sql::Transaction transaction(database);
      shard::settle_receipts(database, done);
      transaction.commit();
    });
  }

  // Returns true if no copy is left, and none can come back.
  bool delete_copies(std::uint32_t shard, std::span<const std::uint64_t> tokens) {
    if (is_out(shard)) {
      return false;
    }
    try {
      shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
        const Step step(steps::flush_delete_copies, shard);
        if (!step.left_out() && shard::delete_copies(database, tokens) < tokens.size()) {
          shard::make_durable(database, shard);  // another process may have deleted them just now
        }
      });
      return true;
    } catch (const Error& error) {
      report_.failures.emplace(shard, error);
      return false;
    }
  }

  shard::Shards& shards_;
  job::Job& job_;
  FlushReport& report_;
  write::Writer writer_;
  std::vector<std::uint32_t> with_copies_;  // shards, sorted, that had copies in the beginning
  std::vector<shard::BufferedWrite> batch_;
  std::set<Uuid> ids_;                         // of the batch, distinct
  std::set<std::uint32_t> blocked_;            // shards whose entities are not tried any more
  std::map<std::uint32_t, Error> failed_now_;  // index shards that the transaction in hand could not write to
  std::map<std::uint32_t, std::vector<Error>> failures_;  // of them, one for each transaction
  std::set<Uuid> left_;                                   // of other shards
  std::set<std::uint32_t> decided_on_;                    // shards that have receipts
};

}  // namespace

void flush(shard::Shards& shards, job::Job& job, const Counts& counts, FlushReport& report) {
  Flush(shards, job, report).run(counts);
}

void flush(shard::Shards& shards, JobControl& control, FlushReport& report) {
  shards.check_identities();
  job::Job job(shards, control, {}, "flush", Error(ErrorCode::interrupted, "interrupted before the end"));
  const Counts counts = shard::count_buffered(shards, report.failures);
  const bool all_counted = report.failures.empty();
  flush(shards, job, counts, report);
  report.left_is_known = report.left_is_known && all_counted;
}

}  // namespace looseleaf::flush

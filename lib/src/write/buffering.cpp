// Keeps new entities on other servers while a server that they need is down.
#include "write/buffering.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/random.hpp"
#include "shard/access.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/placement.hpp"
#include "shard/steps.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::write {
namespace {

constexpr std::size_t most_copies = 2;
// How long a write that can be buffered waits for a server, and while one is known to be down.
constexpr auto buffer_after = std::chrono::milliseconds(3000), buffer_soon_after = std::chrono::milliseconds(200);

class Buffering {
 public:
  Buffering(shard::Shards& shards, std::vector<const Write*> writes)
      : shards_(shards), deadline_(shards.deadline()), patience_(deadline_.left() / 2), writes_(std::move(writes)) {}

  void run() {
    sql::Backoff backoff;
    while (true) {
      const Copied copied = try_places();
      if (copied == Copied::yes) {
        decide_buffered();
        return;
      }
      if (copied == Copied::unknown) {
        decide_unknown();
        return;
      }
      if (!again_ || deadline_.passed()) {
        decide_failed();
        return;
      }
      backoff.wait(deadline_);
    }
  }

 private:
  enum class Copied { yes, no, unknown };

  // Nothing is committed before the copies are inserted everywhere. So an attempt that fails before has done nothing,
  // and the next one may choose other places.
  Copied try_places() {
    again_ = false;
    std::size_t commits = 0, failed = 0;
    try {
      const std::vector<std::uint32_t> places = choose_places();
      if (!places.empty()) {
        copy_to(places, commits, failed);
      }
    } catch (const Error& error) {
      note(error);
    }
    one_may_lack_ = failed > 0;
    return commits > failed ? Copied::yes : failed > 0 ? Copied::unknown : Copied::no;
  }

  void note(const Error& error) {
    failure_ = error;
    const auto* const server = dynamic_cast<const sql::ServerError*>(&error);
    again_ = again_ || (server != nullptr && server->retryable());
    if (const auto* const move = dynamic_cast<const shard::AboutToMove*>(&error)) {
      undo_if_overdue(*move);
    }
  }

  // Sessions of several users, or with and without TLS, count as several servers elsewhere. Two copies shall not share
  // one.
  [[nodiscard]] std::string address_of(std::uint32_t shard) const {
    return to_string(shards_.cluster().shards.at(shard).address);
  }

  [[nodiscard]] bool has_one_server() const {
    const std::vector<std::uint32_t> shards = shard::all_shards(shards_);
    return std::all_of(shards.begin(), shards.end(),
                       [this](std::uint32_t shard) { return address_of(shard) == address_of(0); });
  }

  // Returns one shard on each of up to two servers that answer and have not refused the copies, beginning behind the
  // writes' own server, so that writes of one server have their copies on the same shards as long as these answer. The
  // own server comes last: it may be another one that is down.
  std::vector<std::uint32_t> choose_places() {
    const std::string own = address_of(shard::shard_of(writes_.front()->id, shards_.count()));
    std::uint32_t first = 0;
    while (address_of(first) != own) {
      ++first;
    }
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t i = 0; i < shards_.count(); ++i) {
      candidates.push_back((first + i) % shards_.count());
    }
    std::stable_partition(candidates.begin(), candidates.end(),
                          [&](std::uint32_t shard) { return address_of(shard) != own; });
    std::set<std::string> done = refused_by_;
    std::vector<std::uint32_t> places;
    for (const std::uint32_t shard : candidates) {
      if (places.size() < most_copies && !done.contains(address_of(shard)) && try_place(shard, places)) {
        done.insert(address_of(shard));
      }
    }
    return places;
  }

  // Adds the shard if it can have copies. Returns false if another shard of its server may.
  bool try_place(std::uint32_t shard, std::vector<std::uint32_t>& places) {
    try {
      const shard::Lease lease = shards_.sessions().connect_once(shard);
      if (fits(*lease)) {
        places.push_back(shard);
      }
      return true;
    } catch (const Error& error) {
      failure_ = error;
      return !shard::may_be_one_shards(error);
    }
  }

  [[nodiscard]] bool fits(const sql::Database& database) {
    const bool all = std::all_of(writes_.begin(), writes_.end(), [&](const Write* write) {
      return shard::statement_size(write->body->size()) <= database->facts().max_allowed_packet;
    });
    if (!all) {
      failure_ = Error(ErrorCode::server, "an entity exceeds the server's max_allowed_packet", {},
                       "raise max_allowed_packet on every server of the cluster");
    }
    return all;
  }

  // buffer.copy: inserts one copy of each write on each of these shards, and then commits all. No copy is inserted once
  // a commit was sent: a flush could have stored the write by then, and deleted its other copy and its receipt. The
  // flush waits for a copy that is inserted and not committed yet. Each fence says that the store is not frozen, and a
  // freeze waits for the commit. Counts the commits that were sent, and those of them that failed.
  void copy_to(const std::vector<std::uint32_t>& places, std::size_t& commits, std::size_t& failed) {
    shard::ServerLeases leases(shards_.sessions());
    const auto groups = leases.by_server({places.begin(), places.end()});
    for (const auto& group : groups) {
      leases.connect_once(group, shard::Purpose::index_writes, deadline_.left());
    }
    make_copies(places);
    std::vector<std::unique_ptr<sql::Transaction>> transactions;
    for (const std::uint32_t place : places) {
      const shard::Step step(shard::steps::buffer_copy, place);
      try {
        shard::on_shard(shards_, place, [&] {
          const sql::Database database = leases.on(place);
          transactions.push_back(std::make_unique<sql::Transaction>(database));
          const shard::Fence fence = shard::lock_fence_shared(database, shard::Busy::refuse);
          shard::require_write_access(shards_, place, database, fence);
          accept_at(fence.now);
          shard::insert_copies(database, buffered_);
        });
      } catch (const sql::ServerError& error) {
        if (!error.retryable() || patience_.passed()) {
          again_ = refused_by_.insert(address_of(place)).second;
        }
        throw;
      }
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      const shard::Step step(shard::steps::buffer_commit, places[i]);
      ++commits;
      try {
        shard::on_shard(shards_, places[i], [&] { transactions[i]->commit(); });
      } catch (const Error& error) {
        failure_ = error;
        ++failed;
      }
    }
  }

  void make_copies(const std::vector<std::uint32_t>& places) {
    shard::CopyPlaces copies{places.front(), std::nullopt};
    if (places.size() > 1) {
      copies.second = places.back();
    }
    buffered_.clear();
    for (const Write* write : writes_) {
      shard::BufferedWrite& buffered = buffered_.emplace_back();
      buffered.place.token = base::random_token();
      buffered.id = write->id;
      buffered.copies = copies;
      buffered.body = *write->body;
    }
  }

  // A server's clock decides when the writes were accepted: the first one that answers.
  void accept_at(base::Stamp now) {
    if (buffered_.front().place.accepted == base::Stamp{}) {
      for (shard::BufferedWrite& write : buffered_) {
        write.place.accepted = now;
      }
    }
  }

  void undo_if_overdue(const shard::AboutToMove& move) {
    try {
      shard::undo_if_overdue(shards_, move, deadline_);
    } catch (const Error& error) {
      failure_ = error;
    }
  }

  void decide_buffered() {
    const Error down = *writes_.front()->result->error;
    Error::Context context;
    std::copy_if(down.context().begin(), down.context().end(), std::back_inserter(context),
                 [](const auto& fact) { return fact.first == "server"; });
    context.emplace_back("reason", down.what());
    if (one_may_lack_) {
      context.emplace_back("copies", "at least one of each, because a server did not answer its COMMIT");
    } else if (!buffered_.front().copies.second) {
      context.emplace_back("copies", refused_by_.empty() ? "one of each, because no further server answers"
                                                         : "one of each, because no further server takes them");
    }
    for (const Write* write : writes_) {
      write->result->status = WriteStatus::buffered;
      write->result->error.reset();
    }
    shards_.warnings().give({"a server is down, so new entities are buffered on other servers", context,
                             "`looseleaf clean --follow`, or `looseleaf flush`, stores them when it answers"});
  }

  void decide_unknown() {
    for (const Write* write : writes_) {
      write->result->status = WriteStatus::unknown;
      write->result->error =
          Error(ErrorCode::outcome_unknown, "outcome of the commit is unknown, so the entity may be buffered or not",
                failure_ ? failure_->context() : Error::Context(),
                "put it again with this id and with --buffer: if it was buffered, the same text again is no mistake");
    }
  }

  // They keep the error for which they were not stored, unless the store is frozen or has moved.
  void decide_failed() {
    for (const Write* write : writes_) {
      if (failure_ && (failure_->code() == ErrorCode::frozen || failure_->code() == ErrorCode::moved)) {
        write->result->error = failure_;
      } else {
        write->result->error->with("buffer", has_one_server() ? "the store has one server"
                                             : failure_ ? "no other server takes it: " + std::string(failure_->what())
                                                        : "no other server takes it");
      }
    }
  }

  shard::Shards& shards_;
  const base::Deadline deadline_,
      patience_;  // until the second, a server that may take the copies later is asked again
  const std::vector<const Write*> writes_;
  std::vector<shard::BufferedWrite> buffered_;
  std::optional<Error> failure_;      // the last one of another server
  bool again_ = false;                // the last attempt may be repeated
  bool one_may_lack_ = false;         // a COMMIT of the last attempt failed, so only one server may have copies
  std::set<std::string> refused_by_;  // addresses of servers that answer, but could not take the copies
};

bool may_buffer(const Items& items) {
  return std::any_of(items.begin(), items.end(), [](const Item* item) { return item->write->condition.buffer; });
}

// Returns the deadline of writes that can be buffered.
base::Deadline patience(const shard::Shards& shards, const Items& items, const base::Deadline& deadline) {
  std::set<std::uint32_t> needed;  // as far as it is known yet
  for (const Item* item : items) {
    needed.insert(item->shard);
    if (item->write->expected) {
      for (const shard::PlacedRow& row : item->write->expected->rows) {
        needed.insert(row.shard);
      }
    }
  }
  const bool failing = std::any_of(needed.begin(), needed.end(),
                                   [&](std::uint32_t shard) { return shards.sessions().is_failing(shard); });
  return base::Deadline(std::min(deadline.left(), failing ? buffer_soon_after : buffer_after));
}

// Returns those of these items whose writes can be buffered, and failed because a server that they need is down.
Items failed_to_be_buffered(const shard::Shards& shards, const Items& items) {
  const auto is_failing = [&](std::uint32_t shard) { return shards.sessions().is_failing(shard); };
  Items failed;
  for (Item* item : items) {
    const WriteResult& result = *item->write->result;
    if (item->decided && item->write->condition.buffer && item->write->body && result.status == WriteStatus::failed &&
        result.error->code() == ErrorCode::unavailable &&
        (is_failing(item->shard) || (item->holder_shard && is_failing(*item->holder_shard)) ||
         std::any_of(item->rows.begin(), item->rows.end(),
                     [&](const shard::PlacedRow& row) { return is_failing(row.shard); }))) {
      failed.push_back(item);
    }
  }
  return failed;
}

// Buffers such items. They have not been stored, so nothing but the copies can store them.
void buffer_failed(shard::Shards& shards, const Items& items) {
  std::vector<const Write*> writes;
  for (const Item* item : failed_to_be_buffered(shards, items)) {
    writes.push_back(item->write);
  }
  if (!writes.empty()) {
    Buffering(shards, std::move(writes)).run();
  }
}

}  // namespace

void write_or_buffer(shard::Shards& shards, const Items& items, const base::Deadline& deadline,
                     const std::function<void(const Items&, const base::Deadline&)>& write) {
  if (!may_buffer(items)) {
    write(items, deadline);
    return;
  }
  write(items, patience(shards, items, deadline));
  buffer_failed(shards, items);
  Items rest;
  for (Item* item : items) {
    const WriteResult& result = *item->write->result;
    if (item->decided && result.status == WriteStatus::failed && result.error->code() == ErrorCode::unavailable) {
      item->decided = false;
      item->deferred = false;
      rest.push_back(item);
    }
  }
  if (!rest.empty()) {
    write(rest, deadline);
    buffer_failed(shards, rest);
  }
}

}  // namespace looseleaf::write

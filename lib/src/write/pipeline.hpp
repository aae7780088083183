// Stores many puts and deletes at full speed and in bounded memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <looseleaf/key.hpp>
#include <looseleaf/write.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shard/shards.hpp"
#include "write/put.hpp"

namespace looseleaf::write {

// Runs encoders, a writer for each server, and one delivering thread around one bounded window of writes in
// flight. Implements looseleaf::WriteStream; `shards` and `writer` outlive it.
class Pipeline {
 public:
  Pipeline(shard::Shards& shards, Writer& writer, std::function<void(WriteResult)> on_result, Key key = {});
  ~Pipeline();

  // See looseleaf::WriteStream.
  void put(std::string text, Position position, const Condition& condition);
  // Like put(), for an entity with its body as another cluster has stored it.
  void put_stored(Uuid id, std::string body, Position position);
  void remove(Uuid id, Position position, const Condition& condition = {});
  void flush();
  void finish();

 private:
  struct Slot;
  static bool by_sequence(const Slot* a, const Slot* b);
  static bool by_id_and_sequence(const Slot* a, const Slot* b);
  using Undecided = std::vector<std::pair<Uuid, std::uint64_t>>;  // ids and sequence numbers

  void start_threads();
  // Starts a thread for one stage. If the stage fails, the whole stream fails.
  template <typename Stage>
  void start(Stage stage);
  void end_threads();
  void wake_all();
  void enter(std::unique_ptr<Slot> slot);
  // Hands every slot that is encoded, and whose predecessors are all encoded, to its server's writer. Thus the writes
  // of one id keep their order. Call this with the lock held.
  void dispatch();

  // The stages.
  void encode();
  void write(std::deque<Slot*>& queue);
  void deliver();

  // Takes as many writes as one transaction should have. A repeated id starts the next batch.
  [[nodiscard]] std::vector<Slot*> take_batch(std::deque<Slot*>& queue) const;
  // Returns true if an earlier write, which may give up a unique value that this one takes, is not decided yet.
  [[nodiscard]] bool waits(const Slot& slot) const;
  // Returns the dispatched writes that are not decided and not in the batch, in any order; nothing if no unique index
  // is known yet, because to look through the window takes time. Call this with the lock held.
  [[nodiscard]] std::optional<Undecided> undecided_beside(const std::vector<Slot*>& batch) const;
  // Returns true if the queue has enough for a batch, or no more will come soon.
  [[nodiscard]] bool worth_writing(const std::deque<Slot*>& queue) const;
  // Returns the writes that belong into a later batch, in order: their shards' fences are not free, or they wait for
  // writes that were undecided `before`.
  std::vector<Slot*> store_batch(const std::vector<Slot*>& batch, std::optional<Undecided> before);
  // Adds to `later` the writes of the batch whose unique values an earlier write may give up; all those whose values
  // others have if it is not known what was undecided `before`, because that will be known next time.
  static void take_blocked(const std::vector<Slot*>& batch, std::optional<Undecided> before, std::vector<Slot*>& later);
  // Lets a write wait if the entity that has its unique values has an earlier write in `before`, which is sorted, and
  // where it is added. Returns false if not.
  static bool wait_for_holder(Slot& slot, Undecided& before);
  // Returns the writes that were handed back.
  std::vector<Slot*> store(const std::vector<Slot*>& slots, const base::Deadline& deadline, HeldShards held);

  // Returns true if nothing more is on its way to the writers, either at the moment or at the end of the stream.
  [[nodiscard]] bool all_dispatched() const { return next_dispatch_ == first_ + window_.size(); }
  // Returns true if nothing is left for the encoders.
  [[nodiscard]] bool all_taken() const { return next_encode_ == first_ + window_.size(); }
  // Returns true if so much is in flight that the encoders must wait until some of it is stored. Only encoded writes
  // can be stored.
  [[nodiscard]] bool crowded() const;

  shard::Shards& shards_;
  Writer& writer_;
  const Key key_;
  const std::function<void(WriteResult)> on_result_;
  const server::Connector& servers_;
  const std::size_t worthwhile_;  // writes

  std::mutex mutex_;  // guards everything below, except the contents of a slot that a stage has taken
  std::condition_variable room_, to_encode_, to_write_, to_deliver_, flushed_;
  std::deque<std::unique_ptr<Slot>> window_;  // in order; the front has sequence number first_
  std::uint64_t first_ = 0;
  std::uint64_t next_encode_ = 0, next_dispatch_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::deque<Slot*>> queues_;  // by server: encoded, waiting for its writer
  bool finished_ = false;
  bool delivering_ = false;     // true while a result is delivered outside the lock
  std::exception_ptr failure_;  // the failure of a stage

  std::vector<std::jthread> threads_;  // last, so that they are joined before the other members are destroyed
};

}  // namespace looseleaf::write

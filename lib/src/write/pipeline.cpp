// Runs encoders, a writer for each server, and one delivering thread around one bounded window of writes in
// flight.
#include "write/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

#include "shard/placement.hpp"
#include "write/encode.hpp"
#include "write/unique_values.hpp"

namespace looseleaf::write {
namespace {

constexpr std::size_t window_writes = 12'000;          // at most so many writes are in flight
constexpr std::size_t window_bytes = 8 * 1024 * 1024;  // of text in flight, unless a single text is larger
constexpr std::size_t batch_writes = 2000;             // in one transaction
// The compressed bodies in one transaction, unless a single body is larger.
constexpr std::size_t batch_bytes = 1024 * 1024;
constexpr std::size_t row_cost = 160;  // bytes of the window that one expected index row uses
// A limit for text and rows together. The number of rows is known only after a text is encoded, so the encoders stop
// while more than this is in flight.
constexpr std::size_t crowded_bytes = 2 * window_bytes;
// A server's writer waits this long, or until more writes come, if it could store none of a batch.
constexpr auto pause = std::chrono::milliseconds(10);
constexpr std::size_t most_held = 100;  // ids in a batch whose shard was held before, so that they crowd out no others
constexpr std::size_t encode_at_once = 64;  // texts that an encoder takes at a time
// The text that an encoder takes at a time. The last text may exceed the limit.
constexpr std::size_t encode_bytes = 128 * 1024;

// A server's writer waits for this number of writes while more are on their way, because commits cost more than rows.
// It is two thirds of the server's share of the window, so that some servers store while the others' writes gather.
std::size_t worthwhile_batch(std::size_t servers) {
  return std::min(batch_writes, std::max<std::size_t>(1, window_writes * 2 / 3 / servers));
}

}  // namespace

// One write, from put() or remove() until its result is delivered.
struct Pipeline::Slot {
  WriteResult result;
  std::size_t cost = 0;  // bytes that count towards the window
  enum class Kind { put, put_stored, remove };
  Kind kind = Kind::remove;
  Condition condition;
  bool encoded = false;                    // the encoder has finished: `write` is complete, or the result is final
  bool final_already = false;              // the encoder found the text malformed, or could not encode it
  bool done = false;                       // the result is final; set only after every stage has finished with the slot
  std::optional<base::Deadline> deadline;  // since the first attempt to store it
  bool taken = false;                      // it is in the batch that is being stored
  bool held = false;                       // tried last when its shard's fence was not free, or no unique index known
  std::optional<Uuid> holder;              // of its unique values, if that kept it from being stored
  std::optional<std::uint64_t> waits_for;  // the sequence number of an earlier write; see waits()
  Write write;
};

bool Pipeline::by_sequence(const Slot* a, const Slot* b) {
  return a->result.sequence < b->result.sequence;
}

bool Pipeline::by_id_and_sequence(const Slot* a, const Slot* b) {
  return std::tie(*a->result.id, a->result.sequence) < std::tie(*b->result.id, b->result.sequence);
}

Pipeline::Pipeline(shard::Shards& shards, Writer& writer, std::function<void(WriteResult)> on_result, Key key)
    : shards_(shards),
      writer_(writer),
      key_(std::move(key)),
      on_result_(std::move(on_result)),
      servers_(shards_.sessions().connector()),
      worthwhile_(worthwhile_batch(servers_.servers())),
      queues_(servers_.servers()) {
  shards_.prepare_put();
  try {
    start_threads();
  } catch (const std::exception& error) {
    end_threads();
    throw resource_exhausted(error);
  }
}

Pipeline::~Pipeline() {
  end_threads();
}

void Pipeline::put(std::string text, Position position, const Condition& condition) {
  auto slot = std::make_unique<Slot>();
  slot->kind = Slot::Kind::put;
  slot->condition = condition;
  slot->cost = text.size();
  slot->result.text = std::move(text);
  slot->result.position = position;
  enter(std::move(slot));
}

void Pipeline::put_stored(Uuid id, std::string body, Position position) {
  auto slot = std::make_unique<Slot>();
  slot->kind = Slot::Kind::put_stored;
  slot->cost = body.size();
  slot->write.body = std::move(body);
  slot->result.id = id;
  slot->result.position = position;
  enter(std::move(slot));
}

void Pipeline::remove(Uuid id, Position position, const Condition& condition) {
  auto slot = std::make_unique<Slot>();
  slot->result.id = id;
  slot->result.position = position;
  slot->write.id = id;
  slot->write.condition = condition;
  slot->write.result = &slot->result;
  enter(std::move(slot));
}

void Pipeline::flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t next = first_ + window_.size();  // of a write that comes after this call
  flushed_.wait(lock, [&] { return first_ > next || (first_ == next && !delivering_) || failure_; });
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void Pipeline::finish() {
  end_threads();
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void Pipeline::start_threads() {
  const unsigned encoders = std::min(4U, std::max(1U, std::thread::hardware_concurrency()));
  for (unsigned i = 0; i < encoders; ++i) {
    start([this] { encode(); });
  }
  for (auto& queue : queues_) {
    start([this, &queue] { write(queue); });
  }
  start([this] { deliver(); });
}

template <typename Stage>
void Pipeline::start(Stage stage) {
  threads_.emplace_back([this, stage] {
    try {
      stage();
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        failure_ = failure_ ? failure_ : std::current_exception();
      }
      wake_all();
    }
  });
}

void Pipeline::end_threads() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  wake_all();
  threads_.clear();  // joins the threads
}

void Pipeline::wake_all() {
  room_.notify_all();
  to_encode_.notify_all();
  to_write_.notify_all();
  to_deliver_.notify_all();
  flushed_.notify_all();
}

void Pipeline::enter(std::unique_ptr<Slot> slot) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] {
    return failure_ || window_.empty() || (window_.size() < window_writes && bytes_ + slot->cost <= window_bytes);
  });
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  if (finished_) {  // the threads that would store it have ended
    throw Error(ErrorCode::usage, "the stream has ended", {}, "use flush() between writes, or make another stream");
  }
  const std::size_t cost = slot->cost;
  slot->result.sequence = first_ + window_.size();
  window_.push_back(std::move(slot));
  bytes_ += cost;
  to_encode_.notify_one();
}

void Pipeline::dispatch() {
  bool any_full = false;
  while (next_dispatch_ < first_ + window_.size()) {
    Slot& slot = *window_[next_dispatch_ - first_];
    if (!slot.encoded) {
      break;
    }
    slot.done = slot.final_already;
    if (!slot.done) {
      auto& queue = queues_[servers_.server_of(shard::shard_of(slot.write.id, shards_.count()))];
      queue.push_back(&slot);
      any_full = any_full || queue.size() == worthwhile_;
    }
    ++next_dispatch_;
  }
  if (any_full || all_dispatched() || crowded()) {
    to_write_.notify_all();
  }
  to_deliver_.notify_one();
}

void Pipeline::encode() {
  std::vector<Slot*> taken;
  std::unique_lock lock(mutex_);
  while (true) {
    to_encode_.wait(lock, [&] { return (all_taken() ? finished_ : !crowded()) || failure_; });
    if (failure_) {
      return;
    }
    taken.clear();
    for (std::size_t bytes = 0; taken.size() < encode_at_once && bytes < encode_bytes && !all_taken();) {
      taken.push_back(window_[next_encode_++ - first_].get());
      bytes += taken.back()->cost;
    }
    if (taken.empty()) {
      return;
    }
    lock.unlock();
    for (Slot* slot : taken) {
      if (slot->kind != Slot::Kind::remove) {
        auto write = slot->kind == Slot::Kind::put ? encode_put(shards_, slot->result, key_)
                                                   : encode_stored(shards_, *std::move(slot->write.body), slot->result);
        slot->final_already = !write;
        slot->write = std::move(write).value_or(Write());
        slot->write.is_copy = slot->kind == Slot::Kind::put_stored;
        slot->write.condition = slot->condition;
        slot->write.holder = &slot->holder;
      }
    }
    lock.lock();
    for (Slot* slot : taken) {
      slot->encoded = true;
      const std::size_t rows = slot->write.expected ? slot->write.expected->rows.size() : 0;
      slot->cost += rows * row_cost;
      bytes_ += rows * row_cost;
    }
    dispatch();
  }
}

bool Pipeline::worth_writing(const std::deque<Slot*>& queue) const {
  return !queue.empty() && (queue.size() >= worthwhile_ || all_dispatched() || crowded());
}

void Pipeline::write(std::deque<Slot*>& queue) {
  std::unique_lock lock(mutex_);
  while (true) {
    to_write_.wait(lock, [&] { return worth_writing(queue) || (all_dispatched() && finished_) || failure_; });
    if (failure_ || queue.empty()) {
      return;
    }
    const std::vector<Slot*> batch = take_batch(queue);
    if (batch.empty()) {  // all wait for others
      to_write_.wait_for(lock, pause);
      continue;
    }
    std::optional<Undecided> before = undecided_beside(batch);
    const bool others = before && !before->empty();
    lock.unlock();
    const std::vector<Slot*> later = store_batch(batch, std::move(before));
    lock.lock();
    for (Slot* slot : batch) {
      slot->done = true;
    }
    bool any_held = false;
    for (Slot* slot : later) {
      slot->done = false;
      slot->taken = false;
      slot->held = !slot->waits_for;
      any_held = any_held || slot->held;
    }
    if (!any_held) {
      std::for_each(queue.begin(), queue.end(), [](Slot* slot) { slot->held = false; });
    }
    // In front, because a later write of the same id must not overtake it.
    queue.insert(queue.begin(), later.begin(), later.end());
    to_deliver_.notify_one();
    if (others) {
      to_write_.notify_all();  // for those that wait for one of this batch
    }
    if (later.size() == batch.size()) {
      to_write_.wait_for(lock, pause);
    }
  }
}

bool Pipeline::crowded() const {
  return bytes_ > crowded_bytes && next_encode_ > first_;
}

bool Pipeline::waits(const Slot& slot) const {
  return slot.waits_for && *slot.waits_for >= first_ && !window_[*slot.waits_for - first_]->done;
}

std::optional<Pipeline::Undecided> Pipeline::undecided_beside(const std::vector<Slot*>& batch) const {
  if (!may_have_unique_values(shards_, batch.front()->write.id)) {
    return std::nullopt;
  }
  Undecided writes;
  for (std::uint64_t sequence = first_; sequence < next_dispatch_; ++sequence) {
    const Slot* slot = window_[sequence - first_].get();
    if (!slot->done && !std::binary_search(batch.begin(), batch.end(), slot, by_id_and_sequence)) {
      writes.emplace_back(*slot->result.id, sequence);
    }
  }
  return writes;
}

std::vector<Pipeline::Slot*> Pipeline::take_batch(std::deque<Slot*>& queue) const {
  std::vector<Slot*> batch;
  std::set<Uuid> behind;  // ids of which a write waits or was held; later writes of these ids come after it
  std::size_t bytes = 0, rows = 0, held = 0;
  for (Slot* slot : queue) {
    if (behind.contains(slot->write.id)) {
      continue;
    }
    if (slot->held || waits(*slot)) {
      behind.insert(slot->write.id);
      if (!slot->held || ++held > most_held) {
        continue;
      }
    }
    bytes += slot->write.body ? slot->write.body->size() : 0;
    rows += slot->write.row_count();
    if (batch.size() == batch_writes || (!batch.empty() && (bytes > batch_bytes || rows > batch_rows))) {
      break;
    }
    batch.push_back(slot);
  }
  std::sort(batch.begin(), batch.end(), by_id_and_sequence);
  // The sequence number of a repeated id, which starts the next batch.
  std::uint64_t next_batch = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 1; i < batch.size(); ++i) {
    if (batch[i]->write.id == batch[i - 1]->write.id) {
      next_batch = std::min(next_batch, batch[i]->result.sequence);
    }
  }
  std::erase_if(batch, [&](const Slot* slot) { return slot->result.sequence >= next_batch; });
  for (Slot* slot : batch) {
    slot->taken = true;
  }
  std::erase_if(queue, [](const Slot* slot) { return slot->taken; });
  return batch;
}

std::vector<Pipeline::Slot*> Pipeline::store_batch(const std::vector<Slot*>& batch, std::optional<Undecided> before) {
  const base::Deadline deadline = shards_.deadline();
  for (Slot* slot : batch) {
    slot->deadline = slot->deadline ? slot->deadline : deadline;
    slot->waits_for.reset();
    slot->holder.reset();
  }
  std::vector<Slot*> held = store(batch, deadline, HeldShards::hand_back);
  if (before) {
    std::transform(held.begin(), held.end(), std::back_inserter(*before),
                   [](const Slot* slot) { return std::pair(slot->write.id, slot->result.sequence); });
  }
  const auto late =
      std::stable_partition(held.begin(), held.end(), [](const Slot* slot) { return !slot->deadline->passed(); });
  if (late != held.end()) {
    store({late, held.end()}, *(*late)->deadline, HeldShards::give_up);
    held.erase(late, held.end());
  }
  std::vector<Slot*> later = std::move(held);
  take_blocked(batch, std::move(before), later);
  std::sort(later.begin(), later.end(), by_sequence);
  return later;
}

void Pipeline::take_blocked(const std::vector<Slot*>& batch, std::optional<Undecided> before,
                            std::vector<Slot*>& later) {
  std::vector<Slot*> blocked;
  std::copy_if(batch.begin(), batch.end(), std::back_inserter(blocked),
               [](const Slot* slot) { return slot->holder.has_value(); });
  if (blocked.empty()) {
    return;
  }
  std::sort(blocked.begin(), blocked.end(), by_sequence);
  if (before) {
    std::sort(before->begin(), before->end());
  }
  for (Slot* slot : blocked) {
    if (before && !wait_for_holder(*slot, *before)) {
      continue;
    }
    slot->deadline.reset();  // it starts again
    slot->result.holder.reset();
    slot->result.error.reset();
    later.push_back(slot);
  }
}

bool Pipeline::wait_for_holder(Slot& slot, Undecided& before) {
  const auto next = std::lower_bound(before.begin(), before.end(), std::pair(*slot.holder, slot.result.sequence));
  if (next == before.begin() || std::prev(next)->first != *slot.holder) {
    return false;
  }
  slot.waits_for = std::prev(next)->second;
  const std::pair self(slot.write.id, slot.result.sequence);
  // Others may wait for this one.
  before.insert(std::lower_bound(before.begin(), before.end(), self), self);
  return true;
}

std::vector<Pipeline::Slot*> Pipeline::store(const std::vector<Slot*>& slots, const base::Deadline& deadline,
                                             HeldShards held) {
  std::vector<Write> writes;
  writes.reserve(slots.size());
  for (Slot* slot : slots) {
    writes.push_back(std::move(slot->write));
  }
  std::vector<Slot*> handed_back;
  for (const std::size_t i : writer_.write_batch(writes, deadline, held)) {
    handed_back.push_back(slots[i]);
    slots[i]->write = std::move(writes[i]);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i]->holder) {  // it may be tried again
      slots[i]->write = std::move(writes[i]);
    }
  }
  return handed_back;
}

void Pipeline::deliver() {
  std::unique_lock lock(mutex_);
  while (true) {
    to_deliver_.wait(lock, [&] {
      return (!window_.empty() && window_.front()->done) || (finished_ && window_.empty()) || failure_;
    });
    if (failure_) {
      return;
    }
    if (window_.empty()) {
      wake_all();  // nothing is left for any thread
      return;
    }
    const bool was_crowded = crowded();
    const std::unique_ptr<Slot> slot = std::move(window_.front());
    // The slot leaves the window only now, after every stage has finished with it: it was encoded and dispatched.
    window_.pop_front();
    ++first_;
    bytes_ -= slot->cost;
    if (was_crowded && !crowded()) {
      to_encode_.notify_all();
    }
    delivering_ = true;
    lock.unlock();
    settle_text(slot->result);
    on_result_(std::move(slot->result));
    room_.notify_one();
    lock.lock();
    delivering_ = false;
    flushed_.notify_all();
  }
}

}  // namespace looseleaf::write

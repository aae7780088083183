// Writes everything that the feed of one cluster delivers into another one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <looseleaf/copy.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "copy/target.hpp"
#include "feed/rounds.hpp"
#include "job/job.hpp"
#include "shard/durability.hpp"
#include "write/pipeline.hpp"
#include "write/put.hpp"

namespace looseleaf::copy {

// Called one at a time.
struct CopierEvents {
  // The run has stored everything that there was, or has stored positions for some time. One position proves nothing,
  // because one shard may refuse writes while others take them.
  std::function<void()> works = [] {};
  std::function<void()> caught_up = [] {};  // everything is there that was committed when the run began
};

// One run from the positions that the target has stored. A position is stored once everything before it is durable in
// the other cluster. So a run that is interrupted anywhere is continued by another one, which writes some entities
// again: each in the version that the original has then.
class Copier : public feed::Reader {
 public:
  // All of them outlive the object.
  Copier(shard::Shards& original, Target& target, const CopyOptions& options, job::Job& job, CopyReport& report,
         CopierEvents events = {});
  ~Copier() override;

  // Reads until everything that was committed when this was called is in the other cluster, or, to follow, until the
  // job is stopped. Then stores the positions.
  void run(feed::Extent extent);

  bool ended() override { return ended_ || job_.stopping(); }
  void end() override { ended_ = true; }
  std::vector<std::uint32_t> choose(std::span<const std::uint32_t> shards) override;
  std::optional<feed::ShardPosition> position(std::uint32_t shard) override;
  std::optional<feed::ShardPosition> take(std::uint32_t shard, const std::optional<feed::ShardPosition>& from,
                                          feed::Page page, feed::Source source) override;
  void caught_up(std::uint32_t shard) override;
  void end_round() override;
  void tell(std::uint32_t shard, const Error* failure) override;

 private:
  // A page whose writes are under way.
  struct PageInFlight {
    std::uint64_t writes_left = 0;  // and one for the reading of the page
    feed::ShardPosition end;
  };
  struct Progress {
    std::optional<feed::ShardPosition> reading;  // up to where it was read
    std::deque<PageInFlight> pages;              // in order
    std::uint64_t first_page = 0;                // the number of the front one
    std::optional<std::uint64_t> caught_up;      // everything that was there is in the pages before this one
    bool advanced = false;                       // `applied` is not stored yet
    feed::ShardPosition applied;                 // up to where it is durable in the other cluster
  };

  void on_result(const WriteResult& result);
  [[noreturn]] void throw_error_of(const WriteResult& result);
  void leave_out(const Uuid& id, const Error& reason);
  void settle_one(std::uint32_t shard, std::uint64_t page);
  [[nodiscard]] bool replace(const Uuid& refused);
  [[nodiscard]] bool is_yet_to_come(const shard::EntityRow& row);
  void require_other_values(const WriteResult& refused, const shard::EntityRow& row,
                            const std::optional<shard::EntityRow>& holder);
  [[nodiscard]] std::optional<shard::EntityRow> read_original(const Uuid& id);
  [[nodiscard]] WriteResult write(const Uuid& id, const std::optional<std::string>& body);
  void fail(const std::exception_ptr& failure);
  void store_in_time();
  void store_now();
  void store_positions();
  [[nodiscard]] std::chrono::steady_clock::duration proof_time() const;
  void note_if_found_done(const WriteResult& result);
  void make_durable();
  [[nodiscard]] bool everything_is_there();
  void mark();

  shard::Shards& original_;
  Target& target_;
  const CopyOptions& options_;
  const CopierEvents events_;
  job::Job& job_;
  std::atomic<bool> ended_ = false;
  // replace() did not complete, so nothing counts as delivered any more: it may have deleted entities whose later
  // versions other threads have stored before that. Used by the pipeline's thread alone.
  bool gave_up_ = false;
  std::mutex mutex_;  // guards the members below, and calls of the caller's functions
  CopyReport& report_;
  std::vector<Progress> progress_;  // by shard of the original
  bool found_done_ = false;         // a delete, and what it found may not be durable yet
  std::exception_ptr failure_;
  std::mutex storing_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point stored_, marked_;  // guarded by storing_, like the next one
  bool has_caught_up_ = false;
  shard::CrashDetector crash_detector_;
  write::Writer writer_;
  std::optional<write::Pipeline> pipeline_;  // last, because its threads use the other members
};

}  // namespace looseleaf::copy

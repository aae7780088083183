// How far a job is on each shard, over all its phases.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace looseleaf::job {

// A phase and its work, relative to that of the other phases of the job. Names are literals.
struct PhaseWeight {
  std::string_view phase;
  double weight = 0;
};

// Thread-safe. With a plan, the work of a shard is counted in units of the first phase, for example in entities, and
// every other phase has a share of it. So the part that is done never decreases, and it reaches the whole only when the
// job has ended. Without a plan the counts are those of the current phase.
class JobProgress {
 public:
  struct State {
    std::string_view phase;
    std::uint64_t done = 0;
    std::uint64_t estimate = 0;  // 0: unknown
  };

  JobProgress(std::uint32_t shards, std::string_view phase) : phase_(phase), counts_(shards), told_(shards) {}

  // Ends the current phase and divides what is left of the job among these phases, which follow in this order.
  void plan(const std::vector<PhaseWeight>& phases);
  [[nodiscard]] bool is_planned() const;

  // Begins a phase and resets the counts of all shards. A phase that is not in the plan gets a part of what is left.
  void begin(std::string_view phase);
  // Sets the approximate amount of work of a shard in this phase, and the amount that earlier runs have done.
  void expect(std::uint32_t shard, std::uint64_t estimate, std::uint64_t done = 0);
  void advance(std::uint32_t shard, std::uint64_t more);

  [[nodiscard]] State of(std::uint32_t shard);

 private:
  struct Count {
    std::uint64_t done = 0, estimate = 0;

    [[nodiscard]] double part() const;
  };

  void end_phase();
  [[nodiscard]] double units(std::uint32_t shard) const;

  mutable std::mutex mutex_;  // guards the members below
  std::string_view phase_;
  std::vector<Count> counts_;      // by shard, in this phase
  std::vector<PhaseWeight> left_;  // the phases to come, with their shares of the whole job
  bool planned_ = false;
  double before_ = 0;          // the share of all phases that have ended
  double share_ = 0;           // that of the current phase
  double first_share_ = 0;     // that of the first phase
  std::vector<double> units_;  // by shard, once the first phase has ended
  std::vector<double> told_;   // by shard, the part that of() has told last
};

}  // namespace looseleaf::job

// Failpoints are named places where a test can kill, stop or delay this process, or make it skip a step. A build
// without LOOSELEAF_FAILPOINTS, such as the shipped one, contains none of this.
// The environment configures them:
//   LOOSELEAF_FAILPOINT="put.commit:before@1#2=kill,reconcile.prove=skip"
// This acts at phase `before` of step put.commit (without a phase: at `before` and `after`), on shard 1 (without: on
// any shard), the second time (without: each time). The actions are kill (SIGKILL to this process), stop (SIGSTOP,
// until SIGCONT), sleep:MS, and skip, which skips the step where possible, so that a test can prove that it would
// notice.
//   LOOSELEAF_FAILPOINT_TRACE=FILE appends a line `put.commit:before@1` for each place that is passed.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

namespace looseleaf::base {

#ifdef LOOSELEAF_FAILPOINTS
inline constexpr bool failpoints_enabled = true;
#else
inline constexpr bool failpoints_enabled = false;
#endif

// Executes the configured action at this place. Returns true if the step is to be skipped.
bool pass_failpoint(std::string_view step, std::string_view phase, std::uint32_t shard);

// One step of a protocol. Its construction is the phase `before`, its destruction the phase `after`, unless an
// exception ends it.
class FailpointScope {
 public:
  FailpointScope(std::string_view step, std::uint32_t shard) {
    if constexpr (failpoints_enabled) {
      step_ = step;
      shard_ = shard;
      left_out_ = pass_failpoint(step_, "before", shard_);
    }
  }
  ~FailpointScope() {
    if constexpr (failpoints_enabled) {
      if (std::uncaught_exceptions() == exceptions_) {
        pass_failpoint(step_, "after", shard_);
      }
    }
  }
  FailpointScope(const FailpointScope&) = delete;
  FailpointScope& operator=(const FailpointScope&) = delete;

  [[nodiscard]] bool left_out() const { return failpoints_enabled && left_out_; }

 private:
  std::string_view step_;
  std::uint32_t shard_ = 0;
  bool left_out_ = false;
  int exceptions_ = failpoints_enabled ? std::uncaught_exceptions() : 0;
};

}  // namespace looseleaf::base

// Failpoints: named places where a test can kill, stop or delay this process, or have it leave a step out. In a build
// without LOOSELEAF_FAILPOINTS, as shipped, nothing of it remains.
//
// The environment says what happens where:
//   LOOSELEAF_FAILPOINT="put.commit:before@1#2=kill,reconcile.validate=skip"
// At phase `before` (or `after`; either, if none is named) of step put.commit, on shard 1 (any), the second time (each
// time), kill: SIGKILL to this process. stop: SIGSTOP, until somebody sends SIGCONT. sleep:MS. skip: the step is left
// out, where it can be, to show that a test notices.
//   LOOSELEAF_FAILPOINT_TRACE=FILE appends a line `put.commit:before@1` for each place as it is passed.
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

// Does what the environment asks for at this place. True if the step is to be left out.
bool pass_failpoint(std::string_view step, std::string_view phase, std::uint32_t shard);

// One step of a protocol: construction is its `before`, destruction its `after`, unless it ended by an exception.
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

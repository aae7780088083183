// The exit statuses that scripts rely on, and how errors map to them.
#pragma once

#include <algorithm>
#include <csignal>
#include <looseleaf/error.hpp>

namespace looseleaf::cli {

// If several apply, the process ends with the greatest.
enum class ExitStatus : int {
  done = 0,
  negative = 1,       // succeeded with a negative answer
  usage = 2,          // wrong usage, cluster file, definition, id or position; an index that is not ready
  failed = 3,         // failed, or could not do everything
  interrupted = 130,  // SIGINT
  terminated = 143,   // SIGTERM
};

[[nodiscard]] constexpr ExitStatus stronger(ExitStatus a, ExitStatus b) {
  return std::max(a, b);
}

[[nodiscard]] constexpr ExitStatus exit_status_of_signal(int signal) {
  return signal == SIGTERM ? ExitStatus::terminated : ExitStatus::interrupted;
}

// `signal` is the signal that asked the process to stop, or 0.
[[nodiscard]] constexpr ExitStatus exit_status_of(ErrorCode code, int signal) {
  switch (code) {
    case ErrorCode::usage:
    case ErrorCode::bad_cluster:
    case ErrorCode::wrong_cluster:
    case ErrorCode::bad_definition:
    case ErrorCode::bad_index:
    case ErrorCode::bad_position:
    case ErrorCode::moved:
      return ExitStatus::usage;
    case ErrorCode::bad_entity:
    case ErrorCode::refused:
      return ExitStatus::negative;
    case ErrorCode::interrupted:
      return signal == 0 ? ExitStatus::failed : exit_status_of_signal(signal);
    case ErrorCode::frozen:
    case ErrorCode::busy:
    case ErrorCode::unavailable:
    case ErrorCode::outcome_unknown:
    case ErrorCode::server:
    case ErrorCode::corrupt:
    case ErrorCode::io:
      return ExitStatus::failed;
  }
  return ExitStatus::failed;
}

}  // namespace looseleaf::cli

// Compares the store with another one, for verify --against.
#pragma once

#include <cstdint>
#include <looseleaf/jobs.hpp>
#include <string>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

struct AgainstOptions {
  std::string other;  // the other store's cluster file
  bool all = false;
  std::uint64_t grace = 0;
  std::string junit;  // the report's file; empty: none
  Throttle throttle;
};

[[nodiscard]] ExitStatus verify_against(const AgainstOptions& options, const Globals& globals);

}  // namespace looseleaf::cli

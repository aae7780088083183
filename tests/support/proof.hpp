// Long runs: their size, their seed, and the log that they leave.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf::test {

// Whether the long forms are asked for: `tests/run.sh --full` sets LOOSELEAF_FULL=1.
[[nodiscard]] bool full_run();

// LOOSELEAF_SEED, else a random one. Printed by the caller, so that a failure can be repeated.
[[nodiscard]] std::uint64_t run_seed();

// In a full run writes docs/proof/NAME-FLAVOUR.md: date, commit, server version, and these lines, `key: value`.
// Otherwise only prints the lines.
void log_proof(const std::string& name, const std::vector<std::pair<std::string, std::string>>& lines);

}  // namespace looseleaf::test

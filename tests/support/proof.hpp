// Long runs: their size, their seed, and the log that they leave.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf::test {

// Whether the long forms are asked for: `tests/run.sh --full` sets LOOSELEAF_FULL=1.
[[nodiscard]] bool full_run();

// LOOSELEAF_ROUNDS, else one of these.
[[nodiscard]] std::uint64_t wanted_rounds(std::uint64_t in_short_run, std::uint64_t in_full_run);

// LOOSELEAF_SEED, else a random one.
[[nodiscard]] std::uint64_t run_seed();
// Printed at once, so that whatever ends the run can be repeated.
[[nodiscard]] std::uint64_t print_run_seed();

// In a full run writes build/proof/NAME-FLAVOUR.md: date, commit, server, the seed if the test case has asked for it,
// these lines, `key: value`, the seconds since the case began, and how many assertions of this program have failed
// since the log before. Otherwise only prints the lines. To be called last.
void log_proof(const std::string& name, const std::vector<std::pair<std::string, std::string>>& lines);

}  // namespace looseleaf::test

// What verify prints at its end: a table of everything that was checked, and what to do about the findings.
#pragma once

#include <cstdint>
#include <looseleaf/jobs.hpp>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf::cli {

// The kinds of findings about index rows. The last ones are seldom found.
inline constexpr FindingKind row_kinds[] = {FindingKind::missing,   FindingKind::stale,     FindingKind::orphan,
                                            FindingKind::misplaced, FindingKind::duplicate, FindingKind::conflict};

// One index on one shard. Without a name: the entities of a shard, if there are findings about them.
struct VerifiedPlace {
  std::string index;
  std::uint32_t shard = 0;
  bool verified = false;  // the rows were compared with the entities
  VerifyReport::Count count;
};

// Returns all indexes on all shards, whether they were verified or not, by name and shard. If no rows were `compared`,
// returns only those with findings.
[[nodiscard]] std::vector<VerifiedPlace> verified_places(const VerifyReport& report, std::uint32_t shards,
                                                         bool compared);

[[nodiscard]] std::uint64_t count_of(const VerifyReport::Count& count, FindingKind kind);
// Returns the index's name, or "entities".
[[nodiscard]] std::string name_of(const std::string& index);

// Prints a line for each place, with `-` for what was not checked. Kinds that are seldom found have a column only if
// they were.
void print_verified(const std::vector<VerifiedPlace>& places);

// Returns what to do about each kind that was found. `repaired` is true after a repair, which left these findings.
[[nodiscard]] std::vector<std::string> advice_of(const VerifyReport& report, bool repaired);

}  // namespace looseleaf::cli

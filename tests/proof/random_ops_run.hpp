// Steps of random sequences, done to a store and to the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/proof/random_ops_values.hpp"

namespace looseleaf::test {

// One thing to do. What exactly follows from its seed, and from what was done before.
struct Step {
  enum class Kind {
    put,
    remove,
    get,
    query,
    create,
    backfill,
    drop,
    clean,
    full_clean,
    purge,
    verify,
    damage,
    tables,
    status,
    init
  };
  Kind kind;
  std::uint64_t seed;
};

// What tells how much the sequences were worth.
struct Tally {
  std::uint64_t sequences = 0, steps = 0, stored = 0, rejected = 0, refused = 0, queries = 0, found = 0, findings = 0,
                stopped = 0, purged = 0, excused = 0, conflicts = 0;
};

struct Failure {
  std::string what;
  // It is only rows too many, after a step so slow that a statement may have been given up and come late, and clean
  // --full removed them: no promise is broken.
  bool excusable = false;
  std::vector<std::string> done;  // before it, as a reader would write it
};

// Does the steps to an empty store of so many shards and to its reference. Absent if both agreed throughout.
[[nodiscard]] std::optional<Failure> run_steps(std::uint32_t shards, const Taste& taste, const std::vector<Step>& steps,
                                               Tally& tally);

}  // namespace looseleaf::test

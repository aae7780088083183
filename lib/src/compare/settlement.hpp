// Finds out whether suspects, entities that differed when they were first compared, differ for good.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <looseleaf/compare.hpp>
#include <string>
#include <vector>

#include "compare/contents.hpp"
#include "compare/text_digest.hpp"

namespace looseleaf::compare {

// Throws Error(moved): what is written since is only in the new store.
void require_comparable(shard::Shards& shards);

// Not thread-safe. If the other store is a copy, a difference counts if the copy had passed the stamp of the source's
// row, was read then, and the source still had that stamp afterwards. Otherwise it counts if both rows are unchanged
// after the grace period. Neither needs a lock.
class Settlement {
 public:
  // Everything outlives the object. `report.follows` is known.
  Settlement(const Store& here, const Store& there, const Digester& digester, const CompareOptions& options,
             CompareReport& report)
      : here_(here), there_(there), digester_(digester), options_(options), report_(report) {}

  // Keeps a suspect with its contents as they were first seen. May settle all suspects.
  void add(const Uuid& id, Content here, Content there);
  // Settles all suspects.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  struct Suspect {
    Uuid id;
    Content here, there;  // as they were last seen
    int checks = 1;
  };

  void settle_after_grace();
  void settle_once_copied();
  // Moves the suspects that the copy has reached out of suspects_.
  [[nodiscard]] std::vector<Suspect> take_reached();
  // Throws if others may have written to the copy before now.
  void require_copy();
  void wait(Clock::time_point until, std::chrono::seconds at_most, const std::string& reason);

  enum class Rule { unchanged_on_both_sides, copied, late };
  void check(std::vector<Suspect> suspects, Rule rule);
  void check(Suspect suspect, Content here, Content there, Rule rule);
  void report(const Suspect& suspect);
  void report(DifferenceKind kind, const Uuid& id, const std::string& reason);

  const Store& here_;
  const Store& there_;
  const Digester& digester_;
  const CompareOptions& options_;
  CompareReport& report_;
  std::vector<Suspect> suspects_;
  bool said_that_it_waits_ = false;
};

}  // namespace looseleaf::compare

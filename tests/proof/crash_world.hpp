// A cluster under load whose programs and servers are killed at random, one a round.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/proof/crash_follower.hpp"
#include "tests/proof/crash_load.hpp"
#include "tests/proof/crash_trigger.hpp"
#include "tests/support/observed_store.hpp"

namespace looseleaf::test {

struct CrashOptions {
  std::uint64_t seed = 0;
  // In turns.
  std::vector<Victim> victims = {Victim::recorder, Victim::server,  Victim::putter, Victim::job,
                                 Victim::server,   Victim::cleaner, Victim::trigger};
  std::vector<std::string> server_args = {};
  std::string failpoint = {};          // of those who write
  std::string trigger_failpoint = {};  // of the processes of the trigger
  bool position_first = false;         // of the consumer of the feed
};

// What one round showed.
struct CrashRound {
  Victim victim = Victim::recorder;
  bool counts = false;  // the kill came while a transaction of the victim was under way
  std::uint64_t acknowledged = 0;
  std::uint64_t refused = 0;  // of the recorders' writes, because another entity had the value of the unique index
  std::uint64_t queries = 0, answers_checked = 0;
  std::uint64_t purged = 0;     // tombstones, at least
  std::uint64_t delivered = 0;  // versions, to the consumers of the feed
  std::vector<std::string> lost, missing, wrong_answers;
  std::vector<std::string> shared;  // values of the unique index that two entities had, or the wrong one was said to
  std::vector<std::string> not_delivered;  // entities of which a consumer of the feed lacks the last version
  std::vector<std::string> troubles;       // anything else that should not have happened
};

class CrashWorld {
 public:
  explicit CrashWorld(const CrashOptions& options);
  CrashWorld(const CrashWorld&) = delete;
  CrashWorld& operator=(const CrashWorld&) = delete;

  CrashRound run_round();
  // clean --full, and then everything that verify finds.
  [[nodiscard]] std::vector<std::string> clean_all();

 private:
  [[nodiscard]] int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  void let_days_pass();
  [[nodiscard]] bool kill(CrashLoad& load, Victim victim);
  [[nodiscard]] bool kill_server();
  [[nodiscard]] bool has_open_write(std::uint32_t server);
  void wait_until_alone();
  void judge(const CrashWrites& writes, const std::vector<CrashQuery>& queries, const CrashFollower& follower,
             CrashRound& round);
  [[nodiscard]] std::vector<std::string> verify(bool all);

  const CrashOptions options_;
  std::mt19937_64 random_;
  TestCluster cluster_;
  Observer observer_;
  std::unique_ptr<CrashTrigger> trigger_;
  std::map<std::string, std::string> bodies_;  // when the round began
  std::uint64_t trigger_versions_ = 0;         // delivered until the round began
  int rounds_ = 0;
};

}  // namespace looseleaf::test

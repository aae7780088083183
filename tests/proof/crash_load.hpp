// Who is at work during a crash round: processes of each kind, and a thread that queries.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/proof/crash_history.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

enum class Victim { recorder, putter, job, cleaner, trigger, server };

// Entities that the recorders share: the numbers from 0 on.
constexpr int crash_recorded = 400;
// Shard k is on server k % crash_servers.
constexpr std::uint32_t crash_servers = 2;

struct CrashLoadOptions {
  std::string name;       // the writes' names begin with it
  Victim victim;          // if it is the server, commands may give up with status 3
  std::string failpoint;  // of those who write; may be empty
};

class CrashLoad {
 public:
  // Starts all of them. Both references must outlive the object.
  CrashLoad(const TestCluster& cluster, std::mt19937_64& random, CrashLoadOptions options);
  CrashLoad(const CrashLoad&) = delete;
  CrashLoad& operator=(const CrashLoad&) = delete;

  // Until each recorder has had an acknowledgement.
  void get_going();
  // For some time; put, job and cleaner are followed by others when they end.
  void go_on(std::chrono::steady_clock::duration time);
  // Waits a little for the victim, which must be one of the load, to be in a transaction, and kills it. False if it was
  // in none when it died, or, of a recorder, if no write was under way.
  bool kill();
  // Everybody ends what they are at.
  void end();

  // After end():
  [[nodiscard]] const CrashWrites& writes() const { return writes_; }
  [[nodiscard]] const std::vector<CrashQuery>& answers() const { return answers_; }
  // What should not have happened.
  [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }
  // Tombstones, by cleaners that told.
  [[nodiscard]] std::uint64_t purged() const { return purged_; }

 private:
  struct Killed {
    cli::ProcessResult result;
    bool in_transaction = false;
  };

  [[nodiscard]] int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  [[nodiscard]] std::string trace_of(const std::string& who) const;
  [[nodiscard]] std::string trace_of(std::size_t recorder) const { return trace_of(std::to_string(recorder)); }
  [[nodiscard]] std::string name_of(std::size_t recorder) const;
  [[nodiscard]] std::string log_of(std::size_t recorder) const;
  [[nodiscard]] std::vector<std::string> traced(const std::string& trace, bool writes) const;
  [[nodiscard]] std::string definition(int number) const;
  [[nodiscard]] std::unique_ptr<cli::Process> start_recorder(std::size_t number);
  [[nodiscard]] std::unique_ptr<cli::Process> start_program(std::vector<std::string> command,
                                                            const std::vector<std::string>& arguments,
                                                            const std::string& input = {}) const;
  void start_putter();
  void end_putter();
  void take_put_results(const cli::ProcessResult& result);
  void start_job();
  void end_job();
  void start_cleaner();
  void end_cleaner();
  void count_purged(std::string notes);
  [[nodiscard]] Killed kill_process(std::unique_ptr<cli::Process>& process, const std::string& trace);
  [[nodiscard]] bool kill_recorder();
  void expect_status(const std::string& who, const cli::ProcessResult& result, const std::set<int>& statuses,
                     bool may_give_up);
  int read_log(std::size_t recorder);
  void query(const std::stop_token& stop, std::uint64_t seed);

  const TestCluster& cluster_;
  std::mt19937_64& random_;
  const CrashLoadOptions options_;
  const std::string directory_;
  std::vector<std::unique_ptr<cli::Process>> recorders_;
  std::unique_ptr<cli::Process> putter_, job_, cleaner_;
  std::string job_name_;
  std::set<std::size_t> logs_read_;
  std::map<std::string, Operation> put_writes_;
  int put_ = 0;  // so far
  CrashWrites writes_;
  std::vector<CrashQuery> answers_;          // the thread's until it has ended
  std::vector<std::string> query_troubles_;  // likewise
  std::vector<std::string> troubles_;
  std::uint64_t purged_ = 0;
  std::jthread queries_;
};

}  // namespace looseleaf::test

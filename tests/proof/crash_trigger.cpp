// The processes of the trigger, and the files of their command.
#include "tests/proof/crash_trigger.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t processes = 3;

// Each batch is a file, which appears when it is whole. $0 is the directory.
constexpr const char* keep_batch = "cat > $0/$$.part && mv $0/$$.part $0/$$.$(date +%N).batch";

bool is_between_batch_and_position(const std::string& trace) {
  const std::size_t delivery = trace.rfind("trigger.deliver:before"), store = trace.rfind("trigger.store:after");
  return delivery != std::string::npos && (store == std::string::npos || store < delivery);
}

std::string file_of_account(const TestCluster& cluster) {
  auto file = nlohmann::json::parse(read_text(cluster.file()));
  file["user"] = "follower";
  return cluster.directory().write("follower.json", file.dump());
}

}  // namespace

CrashTrigger::CrashTrigger(const TestCluster& cluster, const std::string& failpoint)
    : cluster_(cluster),
      failpoint_(failpoint),
      directory_(cluster.directory().path() + "/trigger"),
      file_(file_of_account(cluster)),
      processes_(processes),
      consumer_({}) {
  std::filesystem::create_directory(directory_);
  create_account();
  for (std::size_t number = 0; number < processes; ++number) {
    start(number);
  }
}

// As docs/operations.md says.
void CrashTrigger::create_account() const {
  for (std::uint32_t shard = 0; shard < cluster_.shards(); ++shard) {
    const std::string database = cluster_.database(shard);
    cluster_.sql(shard, fmt::format("CREATE USER IF NOT EXISTS follower@localhost; "
                                    "GRANT SELECT, LOCK TABLES ON {0}.* TO follower@localhost; "
                                    "GRANT UPDATE (clock_floor) ON {0}.looseleaf_shard TO follower@localhost; "
                                    "GRANT INSERT, UPDATE, DELETE ON {0}.looseleaf_progress TO follower@localhost",
                                    database));
  }
}

std::string CrashTrigger::trace_of(std::size_t number) const {
  return fmt::format("{}/trigger{}.trace", cluster_.directory().path(), number);
}

void CrashTrigger::start(std::size_t number) {
  std::filesystem::remove(trace_of(number));
  std::vector<std::string> command = {"env", "LOOSELEAF_FAILPOINT_TRACE=" + trace_of(number)};
  if (!failpoint_.empty()) {
    command.push_back("LOOSELEAF_FAILPOINT=" + failpoint_);
  }
  command.insert(command.end(), {looseleaf_program(), "--cluster", file_, "trigger", "run", "crash", "--batch", "500",
                                 "--", "sh", "-c", keep_batch, directory_});
  processes_[number] = std::make_unique<cli::Process>(test::start(command));
}

bool CrashTrigger::kill(std::uint64_t number) {
  const auto victim = static_cast<std::size_t>(number % processes);
  const auto in_between = [&] { return is_between_batch_and_position(read_text(trace_of(victim))); };
  for (const auto until = Clock::now() + std::chrono::seconds(3); Clock::now() < until && !in_between();) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  processes_[victim]->signal(SIGKILL);
  static_cast<void>(processes_[victim]->wait());
  const bool counts = in_between();
  start(victim);
  return counts;
}

// A position is stored after its batch is kept. So the files are complete when no shard is behind.
void CrashTrigger::catch_up() {
  for (const auto until = Clock::now() + std::chrono::seconds(60); is_behind();) {
    if (Clock::now() > until) {
      troubles_.push_back("the trigger is still behind: " + cluster_.looseleaf({"trigger", "list", "--verbose"}).out);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  for (auto& process : processes_) {
    if (cli::is_gone(process->pid())) {
      const cli::ProcessResult result = process->wait();
      troubles_.push_back(fmt::format("trigger run ended with status {}: {}", result.status, result.err));
      start(static_cast<std::size_t>(&process - processes_.data()));
    }
  }
  take_files();
}

bool CrashTrigger::is_behind() {
  const cli::ProcessResult list = cluster_.looseleaf({"trigger", "list", "--output", "json"});
  if (list.status != 0 || list.out.empty()) {
    return true;
  }
  return nlohmann::json::parse(lines_of(list.out).front()).value("lag_changes", -1) != 0;
}

void CrashTrigger::take_files() {
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    const std::string path = entry.path();
    if (!path.ends_with(".batch")) {
      continue;
    }
    for (const std::string& line : lines_of(read_text(path))) {
      consumer_.take(line);
    }
    std::filesystem::remove(path);
  }
}

std::vector<std::string> CrashTrigger::take_troubles() {
  return std::exchange(troubles_, {});
}

}  // namespace looseleaf::test

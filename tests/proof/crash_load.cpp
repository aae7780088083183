// The processes of a round, the thread that queries, and how one of them is killed while it writes.
#include "tests/proof/crash_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <looseleaf/datastore.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tests/proof/history_record.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t recorders = 2;
constexpr int first_put = 100'000, puttable = 3'000, put_at_once = 300;  // entities that `looseleaf put` writes
constexpr int killed_status = 128 + SIGKILL;

// Those that come and go, under one name.
constexpr const char* passing_indexes[] = {
    R"({"table": "passing", "properties": [{"name": "m", "type": "int"}], "shard_on": "m"})",
    R"({"table": "passing", "properties": [{"name": "u", "type": "int"}], "shard_on": "u", "immutable": true, "unique": true})"};

// Steps between which a process has written what is not committed yet.
enum class Scope { shard, server, process };  // whose transaction it is
struct Span {
  std::string_view from, to;
  std::string_view anew;  // what begins after a failure, which passes no `to`
  Scope scope;
};

constexpr Span spans[] = {
    {"put.write_entities:after", "put.commit:after", "put.fence:before", Scope::server},
    {"intent.commit:before", "intent.commit:after", "intent.commit:before", Scope::shard},
    {"backfill.insert_index_rows:before", "backfill.commit:after", "backfill.fence:before", Scope::process},
    {"reconcile.change_index_rows:before", "reconcile.commit:after", "reconcile.fence:before", Scope::process},
    {"purge.delete:after", "purge.commit:after", "purge.fence:before", Scope::shard},
    {"fence.commit:before", "fence.commit:after", "fence.commit:before", Scope::shard},
};

// Whether a process whose trace this is is, or was when it died, in such a span.
bool is_in_transaction(const std::string& trace) {
  std::set<std::pair<const Span*, unsigned long>> open;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = std::min(line.find('@'), line.size());
    const std::string place = line.substr(0, at);
    const unsigned long shard = at == line.size() ? 0 : std::stoul(line.substr(at + 1));
    for (const Span& span : spans) {
      const std::pair key(&span, span.scope == Scope::process  ? 0
                                 : span.scope == Scope::server ? shard % crash_servers
                                                               : shard);
      if (place == span.to || place == span.anew) {
        open.erase(key);
      }
      if (place == span.from) {
        open.insert(key);
      }
    }
  }
  return !open.empty();
}

CrashQuery ask(const Datastore& datastore, const std::string& index, const std::string& property,
               const std::string& value) {
  CrashQuery answer;
  answer.property = property;
  answer.value = value;
  answer.start = monotonic_now();
  Query query;
  query.index = index;
  query.conditions.push_back(Condition::parse(property + "=" + value));
  datastore.query(query, [&](const Entity& entity) {
    if (!answer.found.emplace(to_string(entity.id), entity.json).second) {
      answer.twice.push_back(to_string(entity.id));
    }
    return true;
  });
  answer.end = monotonic_now();
  return answer;
}

}  // namespace

CrashLoad::CrashLoad(const TestCluster& cluster, std::mt19937_64& random, CrashLoadOptions options)
    : cluster_(cluster), random_(random), options_(std::move(options)), directory_(cluster.directory().path()) {
  for (std::size_t i = 0; i < recorders; ++i) {
    recorders_.push_back(start_recorder(i));
  }
  start_putter();
  start_job();
  if (options_.victim != Victim::cleaner) {  // that one is started when it is to be killed, and so has work
    start_cleaner();
  }
  queries_ = std::jthread([this, seed = random_()](const std::stop_token& stop) { query(stop, seed); });
}

void CrashLoad::get_going() {
  const auto limit = Clock::now() + std::chrono::seconds(5);
  for (std::size_t i = 0; i < recorders; ++i) {
    while (read_text(log_of(i)).find("\nend\t") == std::string::npos && Clock::now() < limit) {
      go_on(std::chrono::milliseconds(5));
    }
  }
}

void CrashLoad::go_on(Clock::duration time) {
  const auto until = Clock::now() + time;
  while (Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (job_ && cli::is_gone(job_->pid())) {
      end_job();
      start_job();
    }
    if (putter_ && cli::is_gone(putter_->pid())) {
      end_putter();
      start_putter();
    }
    if (cleaner_ && cli::is_gone(cleaner_->pid())) {
      end_cleaner();
      start_cleaner();
    }
  }
}

bool CrashLoad::kill() {
  switch (options_.victim) {
    case Victim::recorder:
      return kill_recorder();
    case Victim::putter: {
      const Killed killed = kill_process(putter_, trace_of("put"));
      take_put_results(killed.result);
      return killed.in_transaction;
    }
    case Victim::job:
      return kill_process(job_, trace_of("job")).in_transaction;
    case Victim::cleaner:
      start_cleaner();
      return kill_process(cleaner_, trace_of("cleaner")).in_transaction;
    case Victim::trigger:
    case Victim::server:
      break;
  }
  throw std::logic_error("the victim is not of the load");
}

bool CrashLoad::kill_recorder() {
  const std::size_t number = random_() % recorders;
  const Killed killed = kill_process(recorders_[number], trace_of(number));
  const int unended = read_log(number);
  return killed.in_transaction && unended > 0;
}

// While it waits, processes that end are followed by others: the victim is the one that is there then.
CrashLoad::Killed CrashLoad::kill_process(std::unique_ptr<cli::Process>& process, const std::string& trace) {
  constexpr int looks = 600;
  for (int i = 0; i < looks && !is_in_transaction(read_text(trace)); ++i) {
    go_on(std::chrono::milliseconds(1 + below(3)));
  }
  process->signal(SIGKILL);
  Killed killed = {process->wait()};
  process.reset();
  killed.in_transaction = killed.result.status == killed_status && is_in_transaction(read_text(trace));
  return killed;
}

void CrashLoad::end() {
  for (auto& recorder : recorders_) {
    if (recorder) {
      recorder->signal(SIGTERM);
    }
  }
  if (putter_) {
    putter_->signal(SIGTERM);
  }
  for (std::size_t i = 0; i < recorders_.size(); ++i) {
    if (recorders_[i]) {
      expect_status("recorder", recorders_[i]->wait(), {0}, false);
    }
    if (!logs_read_.contains(i)) {
      read_log(i);
    }
  }
  if (putter_) {
    end_putter();
  }
  if (job_) {
    end_job();
  }
  if (cleaner_) {
    cleaner_->signal(SIGTERM);
    end_cleaner();
  }
  queries_.request_stop();
  queries_.join();
  troubles_.insert(troubles_.end(), query_troubles_.begin(), query_troubles_.end());
}

std::string CrashLoad::trace_of(const std::string& who) const {
  return fmt::format("{}/{}.trace", directory_, who);
}

std::string CrashLoad::name_of(std::size_t recorder) const {
  return fmt::format("{}-{}", options_.name, recorder);
}

std::string CrashLoad::log_of(std::size_t recorder) const {
  return fmt::format("{}/{}.log", directory_, name_of(recorder));
}

// The beginning of a command whose steps are written to a file of their own.
std::vector<std::string> CrashLoad::traced(const std::string& trace, bool writes) const {
  std::remove(trace.c_str());
  std::vector<std::string> command = {"env", "LOOSELEAF_FAILPOINT_TRACE=" + trace};
  if (writes && !options_.failpoint.empty()) {
    command.push_back("LOOSELEAF_FAILPOINT=" + options_.failpoint);
  }
  return command;
}

std::unique_ptr<cli::Process> CrashLoad::start_recorder(std::size_t number) {
  std::vector<std::string> command = traced(trace_of(number), true);
  command.insert(command.end(), {LOOSELEAF_HISTORY_WORKER, cluster_.file(), log_of(number), name_of(number)});
  return std::make_unique<cli::Process>(start(command, fmt::format("crash\t{}\t{}\n", random_(), crash_recorded)));
}

std::unique_ptr<cli::Process> CrashLoad::start_program(std::vector<std::string> command,
                                                       const std::vector<std::string>& arguments,
                                                       const std::string& input) const {
  command.insert(command.end(), {looseleaf_program(), "--cluster", cluster_.file()});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return std::make_unique<cli::Process>(start(command, input));
}

void CrashLoad::start_putter() {
  const bool remove = below(4) == 0;
  const int first = first_put + below(puttable - put_at_once);
  const long long now = monotonic_now();
  std::string input;
  for (int number = first; number < first + put_at_once; ++number) {
    const std::string name = fmt::format("{}-p{}", options_.name, ++put_);
    Operation write;
    write.name = name;
    write.start = now;
    write.action = remove ? Action::remove : Action::put;
    write.id = crash_id(number);
    write.text = remove ? "" : crash_entity(number, random_(), name);
    input += (remove ? write.id : write.text) + "\n";
    put_writes_.emplace(write.id, std::move(write));
  }
  putter_ = start_program(traced(trace_of("put"), true),
                          remove ? std::vector<std::string>{"delete", "-"} : std::vector<std::string>{"put"}, input);
}

void CrashLoad::end_putter() {
  const cli::ProcessResult result = putter_->wait();
  putter_.reset();
  expect_status("put", result, {0, 1, 128 + SIGTERM}, true);
  take_put_results(result);
}

void CrashLoad::take_put_results(const cli::ProcessResult& result) {
  std::istringstream lines(result.out);
  for (std::string id; std::getline(lines, id) && !lines.eof();) {
    Operation& write = put_writes_.at(id);
    write.outcome = Outcome::done;
    write.end = monotonic_now();
  }
  for (auto& [id, write] : put_writes_) {
    writes_[id].push_back(std::move(write));
  }
  put_writes_.clear();
}

void CrashLoad::start_job() {
  const std::vector<std::vector<std::string>> jobs = {{"create-index", definition(0), "--backfill"},
                                                      {"create-index", definition(1), "--backfill"},
                                                      {"drop-index", "--yes", "passing"},
                                                      {"backfill"},
                                                      {"verify", "--grace", "0", "--output", "json"}};
  const std::vector<std::string>& chosen = jobs[static_cast<std::size_t>(below(static_cast<int>(jobs.size())))];
  job_name_ = chosen.front();
  job_ = start_program(traced(trace_of("job"), false), chosen);
}

std::string CrashLoad::definition(int number) const {
  return cluster_.directory().write(fmt::format("passing{}.json", number), passing_indexes[number]);
}

// Jobs are refused in many states, which is no trouble.
void CrashLoad::end_job() {
  const cli::ProcessResult result = job_->wait();
  job_.reset();
  expect_status(job_name_, result, {0, 1, 2}, true);
  if (result.out.find("\"kind\":\"missing\"") != std::string::npos ||
      result.out.find("\"kind\":\"conflict\"") != std::string::npos) {
    troubles_.push_back("a verify meanwhile found " + result.out);
  }
}

void CrashLoad::start_cleaner() {
  cleaner_ = start_program(traced(trace_of("cleaner"), false), {"clean", "--follow"});
}

void CrashLoad::end_cleaner() {
  const cli::ProcessResult result = cleaner_->wait();
  cleaner_.reset();
  expect_status("clean --follow", result, {0, 128 + SIGTERM}, true);
  count_purged(result.err);
}

// The last summary counts.
void CrashLoad::count_purged(std::string notes) {
  std::erase(notes, ',');  // of thousands
  const std::size_t at = notes.rfind("purged ");
  purged_ += at == std::string::npos ? 0 : std::stoull(notes.substr(at + std::string_view("purged ").size()));
}

// Some may give up with status 3 if a server dies.
void CrashLoad::expect_status(const std::string& who, const cli::ProcessResult& result, const std::set<int>& statuses,
                              bool may_give_up) {
  const bool gave_up = may_give_up && options_.victim == Victim::server && result.status == 3;
  if (!gave_up && !statuses.contains(result.status)) {
    troubles_.push_back(fmt::format("{}: status {}, {}", who, result.status, result.err));
  }
}

// Returns how many writes had begun and not ended.
int CrashLoad::read_log(std::size_t recorder) {
  logs_read_.insert(recorder);
  int unended = 0;
  for (Operation& write : read_records(log_of(recorder), name_of(recorder))) {
    unended += write.end == Operation::never ? 1 : 0;
    writes_[write.id].push_back(std::move(write));
  }
  return unended;
}

void CrashLoad::query(const std::stop_token& stop, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Datastore datastore = Datastore::open(Cluster::load(cluster_.file()));
  while (!stop.stop_requested()) {
    const std::uint64_t n = random() % 40;
    const std::uint64_t which = random() % 4;
    const std::string index = which == 0 ? "by_n" : which == 1 ? "by_c" : which == 2 ? "by_tag" : "by_k";
    try {
      answers_.push_back(which == 0   ? ask(datastore, index, "n", std::to_string(n))
                         : which == 1 ? ask(datastore, index, "c", fmt::format("c{}", n / 2))
                         : which == 2 ? ask(datastore, index, "tags", std::to_string(n))
                                      : ask(datastore, index, "k", std::to_string(n % crash_keys)));
    } catch (const Error& error) {  // no answer: a server is down, or the index is not there at the moment
      if (error.code() != ErrorCode::unavailable && error.code() != ErrorCode::bad_index) {
        query_troubles_.push_back(fmt::format("a query of {} meanwhile: {}", index, error.what()));
      }
    }
  }
}

}  // namespace looseleaf::test

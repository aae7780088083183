// Who runs during a round, how it ends, and what is asked afterwards.
#include "tests/proof/crash_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <looseleaf/datastore.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t shards = 3, servers = 2;
constexpr int recorders = 2, recorded = 400;                             // entities that the recorders share
constexpr int first_put = 100'000, puttable = 3'000, put_at_once = 300;  // those that `looseleaf put` writes
constexpr int killed_status = 128 + SIGKILL;
constexpr auto shortest_round = std::chrono::milliseconds(100);
constexpr int longest_round = 400;  // milliseconds more
constexpr auto after_kill = std::chrono::milliseconds(100);

constexpr const char* ready_indexes[] = {
    R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})",
    R"({"table": "by_c", "properties": [{"name": "c", "type": "string"}]})",
    R"({"table": "by_tag", "properties": [{"name": "tags", "type": "int", "each": true}], "shard_on": "tags"})",
    R"({"table": "by_owner", "properties": [{"name": "owner", "type": "int"}], "shard_on": "owner", "immutable": true})"};
// Those that come and go, under one name.
constexpr const char* passing_indexes[] = {
    R"({"table": "passing", "properties": [{"name": "m", "type": "int"}], "shard_on": "m"})",
    R"({"table": "passing", "properties": [{"name": "u", "type": "int"}], "shard_on": "u", "immutable": true})"};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Steps between which a process has written what is not committed yet.
struct Span {
  std::string_view from, to;
  std::string_view anew;     // what begins after a failure, which passes no `to`
  bool on_one_shard = true;  // these steps name the shard of the transaction
};

constexpr Span spans[] = {
    {"put.write_entities:after", "put.commit:after", "put.fence:before"},
    {"backfill.insert_index_rows:before", "backfill.commit:after", "backfill.fence:before", false},
    {"reconcile.change_index_rows:before", "reconcile.end:after", "reconcile.fence:before", false},
    {"purge.delete:after", "purge.commit:after", "purge.fence:before"},
    {"fence.commit:before", "fence.commit:after", "fence.commit:before"},
};

// Whether a process whose trace this is is, or was when it died, in such a span.
bool is_in_transaction(const std::string& trace) {
  std::set<std::pair<const Span*, std::string>> open;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = std::min(line.find('@'), line.size());
    const std::string place = line.substr(0, at), shard = line.substr(at);
    for (const Span& span : spans) {
      const std::pair key(&span, span.on_one_shard ? shard : std::string());
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

// So that servers log what they recover, too.
std::vector<std::string> with_notes(std::vector<std::string> server_args) {
  if (looseleaf_flavour() == "mysql") {
    server_args.emplace_back("--log-error-verbosity=3");
  }
  return server_args;
}

void create_all(Datastore& datastore) {
  std::vector<IndexDefinition> definitions;
  for (const char* text : ready_indexes) {
    definitions.push_back(IndexDefinition::parse(text, "test"));
  }
  datastore.create_indexes(definitions);
}

}  // namespace

// The processes of one round, and a thread that queries.
class CrashWorld::Load {
 public:
  Load(CrashWorld& world, Victim victim)
      : world_(world),
        server_dies_(victim == Victim::server),
        directory_(world.cluster_.directory().path()),
        name_(fmt::format("r{}", ++world.rounds_)) {
    for (int i = 0; i < recorders; ++i) {
      recorders_.push_back(start_recorder(i));
    }
    start_putter();
    start_job();
    start_cleaner();
    queries_ = std::jthread([this, seed = world_.random_()](const std::stop_token& stop) { query(stop, seed); });
  }

  // Until each recorder has had an acknowledgement.
  void get_going() {
    const auto limit = Clock::now() + std::chrono::seconds(5);
    for (int i = 0; i < recorders; ++i) {
      while (read_file(log_of(i)).find("\nE\t") == std::string::npos && Clock::now() < limit) {
        go_on(std::chrono::milliseconds(5));
      }
    }
  }

  // For some time; jobs that end are followed by others.
  void go_on(Clock::duration time) {
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

  // These wait a little for the victim to be in a transaction. False if it was not when it died.
  bool kill_recorder() {
    const std::size_t victim = world_.random_() % recorders;
    wait_for_transaction(trace_of(victim));
    const cli::ProcessResult result = kill_now(*recorders_[victim]);
    recorders_[victim].reset();
    const int unended = read_log(static_cast<int>(victim));
    logs_read_.insert(static_cast<int>(victim));
    return result.status == killed_status && unended > 0 && is_in_transaction(read_file(trace_of(victim)));
  }

  bool kill_putter() {
    wait_for_transaction(put_trace());
    const cli::ProcessResult result = kill_now(*putter_);
    putter_.reset();
    take_put_results(result);
    return result.status == killed_status && is_in_transaction(read_file(put_trace()));
  }

  bool kill_job() {
    wait_for_transaction(job_trace());
    const cli::ProcessResult result = kill_now(*job_);
    job_.reset();
    return result.status == killed_status && is_in_transaction(read_file(job_trace()));
  }

  bool kill_cleaner() {
    wait_for_transaction(cleaner_trace());
    const cli::ProcessResult result = kill_now(*cleaner_);
    cleaner_.reset();
    return result.status == killed_status && is_in_transaction(read_file(cleaner_trace()));
  }

  // Everybody ends what they are at.
  void end() {
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
      if (!logs_read_.contains(static_cast<int>(i))) {
        read_log(static_cast<int>(i));
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

  [[nodiscard]] const CrashWrites& writes() const { return writes_; }
  [[nodiscard]] const std::vector<CrashQuery>& answers() const { return answers_; }
  [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }
  // Tombstones, by cleaners that told.
  [[nodiscard]] std::uint64_t purged() const { return purged_; }

 private:
  [[nodiscard]] std::string trace_of(std::size_t recorder) const {
    return fmt::format("{}/{}.trace", directory_, recorder);
  }
  [[nodiscard]] std::string log_of(int recorder) const {
    return fmt::format("{}/{}-{}.log", directory_, name_, recorder);
  }

  [[nodiscard]] std::string put_trace() const { return directory_ + "/put.trace"; }
  [[nodiscard]] std::string job_trace() const { return directory_ + "/job.trace"; }
  [[nodiscard]] std::string cleaner_trace() const { return directory_ + "/cleaner.trace"; }

  void wait_for_transaction(const std::string& trace) {
    constexpr int looks = 600;
    for (int i = 0; i < looks && !is_in_transaction(read_file(trace)); ++i) {
      go_on(std::chrono::milliseconds(1 + world_.below(3)));
    }
  }

  // A command whose steps are written to a file of their own.
  [[nodiscard]] std::vector<std::string> traced(const std::string& trace, bool writes) const {
    std::remove(trace.c_str());
    std::vector<std::string> command = {"env", "LOOSELEAF_FAILPOINT_TRACE=" + trace};
    if (writes && !world_.options_.failpoint.empty()) {
      command.push_back("LOOSELEAF_FAILPOINT=" + world_.options_.failpoint);
    }
    return command;
  }

  std::unique_ptr<cli::Process> start_recorder(int number) {
    std::vector<std::string> command = traced(trace_of(static_cast<std::size_t>(number)), true);
    for (const std::string& argument :
         {std::string(LOOSELEAF_CRASH_RECORDER), world_.cluster_.file(), fmt::format("{}-{}", name_, number),
          std::to_string(world_.random_()), std::string("0"), std::to_string(recorded), log_of(number)}) {
      command.push_back(argument);
    }
    return std::make_unique<cli::Process>(start(command));
  }

  std::unique_ptr<cli::Process> start_program(std::vector<std::string> command,
                                              const std::vector<std::string>& arguments,
                                              const std::string& input = {}) const {
    command.insert(command.end(), {looseleaf_program(), "--cluster", world_.cluster_.file()});
    command.insert(command.end(), arguments.begin(), arguments.end());
    return std::make_unique<cli::Process>(start(command, input));
  }

  void start_putter() {
    const bool remove = world_.below(4) == 0;
    const int first = first_put + world_.below(puttable - put_at_once);
    const long long now = crash_now();
    std::string input;
    for (int number = first; number < first + put_at_once; ++number) {
      const std::string name = fmt::format("{}-p{}", name_, ++put_);
      const std::string body = crash_entity(number, world_.random_(), name);
      input += (remove ? crash_id(number) : body) + "\n";
      put_writes_.emplace(crash_id(number),
                          CrashWrite{name, remove ? std::nullopt : CrashValue(body), now, never, CrashStatus::maybe});
    }
    putter_ = start_program(traced(put_trace(), true),
                            remove ? std::vector<std::string>{"delete", "-"} : std::vector<std::string>{"put"}, input);
  }

  void end_putter() {
    const cli::ProcessResult result = putter_->wait();
    putter_.reset();
    expect_status("put", result, {0, 1, 128 + SIGTERM}, true);
    take_put_results(result);
  }

  void take_put_results(const cli::ProcessResult& result) {
    std::istringstream lines(result.out);
    for (std::string id; std::getline(lines, id) && !lines.eof();) {
      CrashWrite& write = put_writes_.at(id);
      write.status = CrashStatus::acknowledged;
      write.end = crash_now();
    }
    for (auto& [id, write] : put_writes_) {
      writes_[id].push_back(std::move(write));
    }
    put_writes_.clear();
  }

  void start_job() {
    const std::vector<std::vector<std::string>> jobs = {{"create-index", definition(0), "--backfill"},
                                                        {"create-index", definition(1), "--backfill"},
                                                        {"drop-index", "--yes", "passing"},
                                                        {"backfill"},
                                                        {"verify", "--grace", "0", "--output", "json"}};
    const std::vector<std::string>& chosen =
        jobs[static_cast<std::size_t>(world_.below(static_cast<int>(jobs.size())))];
    job_name_ = chosen.front();
    job_ = start_program(traced(job_trace(), false), chosen);
  }

  [[nodiscard]] std::string definition(int number) const {
    return world_.cluster_.directory().write(fmt::format("passing{}.json", number), passing_indexes[number]);
  }

  // Jobs are refused in many states, which is no trouble.
  void end_job() {
    const cli::ProcessResult result = job_->wait();
    job_.reset();
    expect_status(job_name_, result, {0, 1, 2}, true);
    if (result.out.find("\"kind\":\"missing\"") != std::string::npos) {
      troubles_.push_back("a verify meanwhile found " + result.out);
    }
  }

  void start_cleaner() { cleaner_ = start_program(traced(cleaner_trace(), false), {"clean", "--follow"}); }

  void end_cleaner() {
    const cli::ProcessResult result = cleaner_->wait();
    cleaner_.reset();
    expect_status("clean --follow", result, {0, 128 + SIGTERM}, true);
    count_purged(result.err);
  }

  // The last summary counts.
  void count_purged(std::string notes) {
    std::erase(notes, ',');  // of thousands
    const std::size_t at = notes.rfind("purged ");
    purged_ += at == std::string::npos ? 0 : std::stoull(notes.substr(at + std::string_view("purged ").size()));
  }

  static cli::ProcessResult kill_now(cli::Process& process) {
    process.signal(SIGKILL);
    return process.wait();
  }

  // Some may give up with status 3 if a server dies.
  void expect_status(const std::string& who, const cli::ProcessResult& result, const std::set<int>& statuses,
                     bool may_give_up) {
    const bool gave_up = may_give_up && server_dies_ && result.status == 3;
    if (!gave_up && !statuses.contains(result.status)) {
      troubles_.push_back(fmt::format("{}: status {}, {}", who, result.status, result.err));
    }
  }

  int read_log(int recorder) { return read_crash_log(read_file(log_of(recorder)), writes_); }

  void query(const std::stop_token& stop, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Datastore datastore = Datastore::open(Cluster::load(world_.cluster_.file()));
    while (!stop.stop_requested()) {
      CrashQuery answer;
      const std::uint64_t n = random() % 40;
      switch (random() % 3) {
        case 0:
          answer = ask(datastore, "by_n", "n", std::to_string(n));
          break;
        case 1:
          answer = ask(datastore, "by_c", "c", fmt::format("c{}", n / 2));
          break;
        default:
          answer = ask(datastore, "by_tag", "tags", std::to_string(n));
      }
      if (answer.end != 0) {
        answers_.push_back(std::move(answer));
      }
    }
  }

  CrashQuery ask(const Datastore& datastore, const std::string& index, const std::string& property,
                 const std::string& value) {
    CrashQuery answer;
    answer.property = property;
    answer.value = value;
    answer.start = crash_now();
    Query query;
    query.index = index;
    query.conditions.push_back(Condition::parse(property + "=" + value));
    try {
      datastore.query(query, [&](const Entity& entity) {
        if (!answer.found.emplace(to_string(entity.id), entity.json).second) {
          answer.twice.push_back(to_string(entity.id));
        }
        return true;
      });
      answer.end = crash_now();
    } catch (const Error& error) {  // no answer: a server is down, or the index is not there at the moment
      if (error.code() != ErrorCode::unavailable && error.code() != ErrorCode::bad_index) {
        query_troubles_.push_back(fmt::format("a query of {} meanwhile: {}", index, error.what()));
      }
    }
    return answer;
  }

  CrashWorld& world_;
  const bool server_dies_;
  const std::string directory_, name_;
  std::vector<std::unique_ptr<cli::Process>> recorders_;
  std::unique_ptr<cli::Process> putter_, job_, cleaner_;
  std::string job_name_;
  std::set<int> logs_read_;
  std::map<std::string, CrashWrite> put_writes_;
  int put_ = 0;  // so far
  CrashWrites writes_;
  std::vector<CrashQuery> answers_;          // the thread's until it has ended
  std::vector<std::string> query_troubles_;  // likewise
  std::vector<std::string> troubles_;
  std::uint64_t purged_ = 0;
  std::jthread queries_;
};

CrashWorld::CrashWorld(const CrashOptions& options)
    : options_(options),
      random_(options.seed),
      cluster_({.shards = shards, .servers = servers, .extra_args = with_notes(options.server_args)}),
      observer_(cluster_) {
  Datastore datastore = Datastore::open(Cluster::load(cluster_.file()));
  datastore.init();
  create_all(datastore);
  std::vector<std::string> texts;
  for (int number = 0; number < recorded; ++number) {
    texts.push_back(crash_entity(number, random_(), fmt::format("first-{}", number)));
  }
  for (const WriteResult& result : datastore.put(texts)) {
    if (result.status != WriteStatus::stored) {
      throw std::runtime_error("the first entities were not stored");
    }
  }
  bodies_ = bodies(observer_.observe());
}

CrashWorld::~CrashWorld() = default;

CrashRound CrashWorld::run_round() {
  CrashRound round;
  round.victim = options_.victims[static_cast<std::size_t>(rounds_) % options_.victims.size()];
  let_days_pass();
  Load load(*this, round.victim);
  load.get_going();
  load.go_on(shortest_round + std::chrono::milliseconds(below(longest_round)));
  kill(load, round);
  load.go_on(after_kill);
  load.end();
  round.troubles = load.troubles();
  round.purged = load.purged();
  wait_until_alone();
  judge(load.writes(), load.answers(), round);
  return round;
}

// Nobody is at work. So what was deleted is old enough to be purged, and what jobs that died have looked at stays
// before or behind it.
void CrashWorld::let_days_pass() {
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    observer_.connection(shard).execute("UPDATE entities SET updated = updated - INTERVAL 2 DAY");
    observer_.connection(shard).execute("UPDATE looseleaf_progress SET barrier = barrier - INTERVAL 2 DAY");
  }
}

void CrashWorld::kill(Load& load, CrashRound& round) {
  switch (round.victim) {
    case Victim::recorder:
      round.counts = load.kill_recorder();
      break;
    case Victim::putter:
      round.counts = load.kill_putter();
      break;
    case Victim::job:
      round.counts = load.kill_job();
      break;
    case Victim::cleaner:
      round.counts = load.kill_cleaner();
      break;
    case Victim::server:
      round.counts = kill_server();
  }
}

// As soon as a transaction is seen there that has written. Its recovery tells whether one was under way when it died.
bool CrashWorld::kill_server() {
  constexpr int looks = 20;
  const auto server = static_cast<std::uint32_t>(below(servers));
  bool seen = false;
  for (int i = 0; i < looks && !seen; ++i) {
    // The server answers from what it gathered in the last tenth of a second.
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    seen = has_open_write(server);
  }
  cli::Sandbox& sandbox = cluster_.sandbox();
  const std::string log = sandbox.server(server).log;
  const std::size_t told = read_file(log).size();
  sandbox.kill_server(server);
  sandbox.start_server(server);
  observer_.reconnect();
  return read_file(log).find("transaction(s) which must be rolled back", told) != std::string::npos;
}

bool CrashWorld::has_open_write(std::uint32_t server) {
  std::uint32_t shard = 0;
  while (cluster_.server_of(shard) != server) {
    ++shard;
  }
  return observer_.connection(shard)
             .query("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_rows_modified > 0")
             .text(0, 0) != "0";
}

void CrashWorld::wait_until_alone() {
  const auto limit = Clock::now() + std::chrono::seconds(30);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    while (observer_.sessions_since(shard, 0) != std::vector<std::uint64_t>{observer_.connection(shard).id()}) {
      if (Clock::now() > limit) {
        throw std::runtime_error("sessions of processes that ended stay");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

void CrashWorld::judge(const CrashWrites& writes, const std::vector<CrashQuery>& queries, CrashRound& round) {
  const ObservedStore store = observer_.observe();
  const auto after = bodies(store);
  const CrashHistory history(bodies_, writes);
  round.acknowledged = history.acknowledged();
  round.lost = history.lost_or_reverted(after);
  round.missing = missing_rows(store);
  for (const CrashQuery& query : queries) {
    const auto wrong = history.wrong_answers(query, round.answers_checked);
    round.wrong_answers.insert(round.wrong_answers.end(), wrong.begin(), wrong.end());
  }
  round.queries = queries.size();
  if (catalogs_agree(store)) {
    const auto found = verify(false);
    round.missing.insert(round.missing.end(), found.begin(), found.end());
  }
  bodies_ = after;
}

std::vector<std::string> CrashWorld::clean_all() {
  const cli::ProcessResult drop = cluster_.looseleaf({"drop-index", "--yes", "passing"});
  if (drop.status != 0 && drop.status != 2) {  // 2: there is none; one that is half there would be a finding
    return {"drop-index: " + drop.err};
  }
  const cli::ProcessResult result = cluster_.looseleaf({"clean", "--full"});
  if (result.status != 0) {
    return {"clean --full: " + result.err};
  }
  return verify(true);
}

// All findings, or those that must never be.
std::vector<std::string> CrashWorld::verify(bool all) {
  VerifyOptions options;
  options.grace_seconds = 0;
  JobControl control;
  Datastore datastore = Datastore::open(Cluster::load(cluster_.file()));
  std::vector<std::string> findings;
  for (const Finding& finding : datastore.verify(options, control).findings) {
    const bool extra = finding.kind == FindingKind::stale || finding.kind == FindingKind::orphan ||
                       finding.kind == FindingKind::misplaced || finding.kind == FindingKind::duplicate;
    if (all || !extra) {
      findings.push_back(fmt::format("verify: {} {} shard {} {} {}", to_string(finding.kind), finding.index,
                                     finding.shard, to_string(finding.entity_id), finding.values));
    }
  }
  return findings;
}

}  // namespace looseleaf::test

// How a round goes, and what is asked afterwards.
#include "tests/proof/crash_world.hpp"

#include <fmt/format.h>

#include <chrono>
#include <looseleaf/datastore.hpp>
#include <stdexcept>
#include <thread>

#include "tests/support/entities.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t crash_shards = 4;
constexpr auto shortest_round = std::chrono::milliseconds(100);
constexpr int longest_round = 400;  // milliseconds more
constexpr auto after_kill = std::chrono::milliseconds(100);

constexpr const char* ready_indexes[] = {
    by_n_sharded, R"({"table": "by_c", "properties": [{"name": "c", "type": "string"}]})",
    R"({"table": "by_tag", "properties": [{"name": "tags", "type": "int", "each": true}], "shard_on": "tags"})",
    R"({"table": "by_owner", "properties": [{"name": "owner", "type": "int"}], "shard_on": "owner", "immutable": true})",
    R"({"table": "by_k", "properties": [{"name": "k", "type": "int"}], "shard_on": "k", "unique": true})"};

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

CrashWorld::CrashWorld(const CrashOptions& options)
    : options_(options),
      random_(options.seed),
      cluster_({.shards = crash_shards, .servers = crash_servers, .extra_args = with_notes(options.server_args)}),
      observer_(cluster_) {
  Datastore datastore = Datastore::open(Cluster::load(cluster_.file()));
  datastore.init();
  create_all(datastore);
  std::vector<std::string> texts;
  for (int number = 0; number < crash_recorded; ++number) {
    texts.push_back(crash_entity(number, random_(), fmt::format("first-{}", number)));
  }
  for (const WriteResult& result : datastore.put(texts)) {
    if (result.status != WriteStatus::stored && !result.holder) {
      throw std::runtime_error("the first entities were not stored");
    }
  }
  bodies_ = bodies(observer_.observe());
  trigger_ = std::make_unique<CrashTrigger>(cluster_, options.trigger_failpoint);
  trigger_->catch_up();
}

CrashRound CrashWorld::run_round() {
  CrashRound round;
  round.victim = options_.victims[static_cast<std::size_t>(rounds_) % options_.victims.size()];
  let_days_pass();
  CrashFollower follower(cluster_, bodies_, options_.position_first);
  CrashLoad load(cluster_, random_,
                 {.name = fmt::format("r{}", ++rounds_), .victim = round.victim, .failpoint = options_.failpoint});
  load.get_going();
  load.go_on(shortest_round + std::chrono::milliseconds(below(longest_round)));
  follower.kill();
  round.counts = kill(load, round.victim);
  load.go_on(after_kill);
  load.end();
  follower.end();
  trigger_->catch_up();
  round.troubles = load.troubles();
  for (const auto& troubles : {follower.troubles(), trigger_->take_troubles()}) {
    round.troubles.insert(round.troubles.end(), troubles.begin(), troubles.end());
  }
  round.purged = load.purged();
  wait_until_alone();
  judge(load.writes(), load.answers(), follower, round);
  return round;
}

// Nobody is at work, and the trigger has delivered everything. So what was deleted is old enough to be purged, and what
// jobs that died have looked at stays before or behind it. The newest rows stay: a position names one of them.
void CrashWorld::let_days_pass() {
  for (std::uint32_t shard = 0; shard < crash_shards; ++shard) {
    sql::Connection& connection = observer_.connection(shard);
    const std::string newest = connection.query("SELECT MAX(updated) FROM entities").text(0, 0);
    connection.execute(fmt::format(
        "UPDATE entities SET updated = updated - INTERVAL 2 DAY WHERE body IS NULL AND updated < '{}'", newest));
    connection.execute(
        "UPDATE looseleaf_progress SET barrier = barrier - INTERVAL 2 DAY WHERE job NOT IN ('trigger', 'lease')");
  }
}

bool CrashWorld::kill(CrashLoad& load, Victim victim) {
  switch (victim) {
    case Victim::server:
      return kill_server();
    case Victim::trigger:
      return trigger_->kill(random_());
    default:
      return load.kill();
  }
}

// As soon as a transaction is seen there that has written. Its recovery tells whether one was under way when it died.
bool CrashWorld::kill_server() {
  constexpr int looks = 20;
  const auto server = static_cast<std::uint32_t>(below(crash_servers));
  bool seen = false;
  for (int i = 0; i < looks && !seen; ++i) {
    // The server answers from what it gathered in the last tenth of a second.
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    seen = has_open_write(server);
  }
  cli::Sandbox& sandbox = cluster_.sandbox();
  const std::string log = sandbox.server(server).log;
  const std::size_t told = read_text(log).size();
  sandbox.kill_server(server);
  sandbox.start_server(server);
  observer_.reconnect();
  return read_text(log).find("transaction(s) which must be rolled back", told) != std::string::npos;
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
  for (std::uint32_t shard = 0; shard < crash_shards; ++shard) {
    const std::vector<std::uint64_t> own = {observer_.connection(shard).facts().connection_id};
    wait_until(
        "sessions of processes end", [&] { return observer_.sessions_since(shard, 0) == own; }, 30s);
  }
}

void CrashWorld::judge(const CrashWrites& writes, const std::vector<CrashQuery>& queries, const CrashFollower& follower,
                       CrashRound& round) {
  const ObservedStore store = observer_.observe();
  const auto after = bodies(store);
  const CrashHistory history(bodies_, writes);
  round.acknowledged = history.acknowledged();
  round.lost = history.lost_or_reverted(after);
  round.missing = missing_rows(store);
  round.shared = shared_values(store);
  const auto wrong_keys = history.wrong_keys(round.refused);
  round.shared.insert(round.shared.end(), wrong_keys.begin(), wrong_keys.end());
  round.not_delivered = follower.consumer().differences(store);
  const auto lacking = trigger_->consumer().differences(store);
  round.not_delivered.insert(round.not_delivered.end(), lacking.begin(), lacking.end());
  round.delivered = follower.consumer().versions() + trigger_->consumer().versions() - trigger_versions_;
  trigger_versions_ = trigger_->consumer().versions();
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

#include "tests/proof/history_processes.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "tests/proof/history_record.hpp"

namespace looseleaf::test {
namespace {

void make_user(const TestCluster& cluster, const std::string& user) {
  for (std::uint32_t shard = 0; shard < cluster.shards(); ++shard) {
    cluster.sql(shard, fmt::format("CREATE USER IF NOT EXISTS '{0}'@'%'; GRANT ALL ON {1}.* TO '{0}'@'%'", user,
                                   cluster.database(shard)));
  }
}

std::string write_cluster_file(const TestCluster& cluster, const WorkerOptions& options) {
  std::string shards;
  for (std::uint32_t shard = 0; shard < cluster.shards(); ++shard) {
    shards += shard == 0 ? "" : ", ";
    shards +=
        shard == 0 && options.port != 0
            ? fmt::format(R"("127.0.0.1:{}/{}")", options.port, cluster.database(shard))
            : fmt::format(R"({{"socket": "{}", "database": "{}"}})", cluster.socket(shard), cluster.database(shard));
  }
  return cluster.directory().write(
      options.name + ".json",
      fmt::format(R"({{"shards": [{}], "user": "{}", "defaults_file": "{}", "ssl_mode": "disabled"}})", shards,
                  options.user, cluster.defaults_file()));
}

cli::Process start_worker(const TestCluster& cluster, const WorkerOptions& options, const std::string& records) {
  std::remove(records.c_str());  // of a former worker of this name
  make_user(cluster, options.user);
  std::vector<std::string> command = {"env",
                                      "LOOSELEAF_FAILPOINT=" + options.failpoints,
                                      LOOSELEAF_HISTORY_WORKER,
                                      write_cluster_file(cluster, options),
                                      records,
                                      options.name};
  if (options.next != nullptr) {
    make_user(*options.next, options.user);
    command.push_back(write_cluster_file(*options.next, options));
  }
  return start(command, options.commands);
}

}  // namespace

std::vector<Session> Sessions::on(std::uint32_t shard) {
  return shard::with_shard(shards_, shard, shards_.deadline(), [](const sql::Database& database) {
    const sql::Result rows = database->query("SHOW FULL PROCESSLIST");
    std::vector<Session> sessions;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      sessions.push_back({rows.unsigned_integer(row, 0), rows.text(row, 1), rows.cell(row, 7).value_or("")});
    }
    return sessions;
  });
}

std::vector<Session> Sessions::of(const std::string& user, std::uint32_t shard) {
  std::vector<Session> sessions = on(shard);
  std::erase_if(sessions, [&](const Session& session) { return session.user != user; });
  return sessions;
}

bool Sessions::kill(std::uint32_t shard, const Session& session) {
  const shard::Lease lease = shards_.connect(shard, shards_.deadline());
  try {
    lease->execute(fmt::format("KILL {}", session.id));
    return true;
  } catch (const sql::ServerError& error) {
    constexpr int no_such_thread = 1094;
    if (error.number() != no_such_thread) {
      throw;
    }
    return false;
  }
}

void Sessions::kill_all(std::uint32_t shard, const std::string& user) {
  for (const Session& session : of(user, shard)) {
    kill(shard, session);
  }
  wait_for("killed sessions to end", [&] { return of(user, shard).empty(); });
}

bool Sessions::has_any(const std::string& user) {
  for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
    if (!of(user, shard).empty()) {
      return true;
    }
  }
  return false;
}

Worker::Worker(const TestCluster& cluster, WorkerOptions options)
    : options_(std::move(options)),
      records_(cluster.directory().path() + "/" + options_.name + ".records"),
      process_(start_worker(cluster, options_, records_)) {}

bool Worker::has_ended() const {
  return cli::is_gone(process_.pid());
}

void Worker::wait_until_stopped() const {
  REQUIRE_MESSAGE(looseleaf::test::wait_until_stopped(process_), options_.name, " ended instead of being stopped");
}

std::vector<Operation> Worker::kill(Sessions& sessions) {
  process_.signal(SIGKILL);
  static_cast<void>(process_.wait());
  return operations(sessions);
}

std::vector<Operation> Worker::finish(Sessions& sessions) {
  const cli::ProcessResult result = process_.wait();
  if (result.status != 0) {
    throw std::runtime_error(fmt::format("{} ended with status {}: {}", options_.name, result.status, result.err));
  }
  return operations(sessions);
}

std::vector<Operation> Worker::operations(Sessions& sessions) const {
  wait_for("the sessions of a worker that is gone", [&] { return !sessions.has_any(options_.user); });
  const long long gone = monotonic_now();
  std::vector<Operation> operations = read_records(records_, options_.name);
  for (Operation& operation : operations) {
    operation.end = std::min(operation.end, gone);
  }
  return operations;
}

void append(History& history, History more) {
  std::move(more.begin(), more.end(), std::back_inserter(history));
}

std::size_t overlapping_writes(const History& history) {
  std::map<std::string, std::vector<const Operation*>> by_id;
  for (const Operation& operation : history) {
    if (operation.action == Action::put || operation.action == Action::remove) {
      by_id[operation.id].push_back(&operation);
    }
  }
  std::size_t count = 0;
  for (auto& [id, writes] : by_id) {
    std::sort(writes.begin(), writes.end(), [](const Operation* a, const Operation* b) { return a->start < b->start; });
    std::map<std::string, long long> last_end;  // by process
    for (const Operation* write : writes) {
      const std::string process = write->name.substr(0, write->name.find('/'));
      count += std::any_of(last_end.begin(), last_end.end(),
                           [&](const auto& other) { return other.first != process && other.second > write->start; })
                   ? 1U
                   : 0U;
      last_end[process] = std::max(last_end[process], write->end);
    }
  }
  return count;
}

HistoryFixture::HistoryFixture(TestCluster&& on) : StoreFixture(std::move(on)) {
  create_index(R"({"table": "index_color", "properties": [{"name": "color", "type": "string"}], "shard_on": "color"})");
  create_index(
      R"({"table": "index_owner", "properties": [{"name": "owner", "type": "string"}], "shard_on": "owner", "immutable": true})");
  create_index(
      R"({"table": "index_key", "properties": [{"name": "key", "type": "string"}], "shard_on": "key", "unique": true})");
  create_index(R"({"table": "index_tags", "properties": [{"name": "tags", "type": "string", "each": true}]})");
}

Worker HistoryFixture::worker(const std::string& name, const std::string& commands,
                              const std::string& failpoints) const {
  return {cluster, {.user = name, .name = name, .commands = commands, .failpoints = failpoints}};
}

void HistoryFixture::run(const std::string& name, const std::string& commands) {
  Worker process = worker(name, commands);
  finish(process);
}

void HistoryFixture::read_all() {
  std::set<std::string> lines;
  for (const char* property : {"color", "owner", "key", "tags"}) {
    lines.insert(fmt::format("query\tindex_{0}\t{0}\t \t~\n", property));
  }
  for (const Operation& operation : history) {
    if (operation.action == Action::put) {
      lines.insert("get\t" + operation.id + "\n");
    } else if (const RangeQuery& query = operation.query; operation.action == Action::query) {
      lines.insert(fmt::format("query\t{}\t{}\t{}\t{}\n", query.index, query.property, query.from, query.to));
    }
  }
  std::string commands;
  for (const std::string& line : lines) {
    commands += line;
  }
  const std::size_t before = history.size();
  run("reader", commands);
  // One that failed explains nothing.
  CHECK(history.size() - before == lines.size());
  CHECK(std::all_of(history.begin() + static_cast<std::ptrdiff_t>(before), history.end(), [](const Operation& read) {
    return read.outcome == Outcome::done || read.outcome == Outcome::not_found;
  }));
}

void HistoryFixture::check_explained(HistoryRules rules) const {
  const std::vector<std::string> complaints = unexplained(history, rules);
  for (std::size_t i = 0; i < std::min<std::size_t>(complaints.size(), 10); ++i) {
    MESSAGE(complaints[i]);
  }
  CHECK(complaints.empty());
}

void HistoryFixture::check_no_row_missing() {
  for (const std::string& finding : findings()) {
    CHECK_MESSAGE(
        (finding.starts_with("stale ") || finding.starts_with("orphan ") || finding.starts_with("duplicate ")),
        finding);
  }
}

void HistoryFixture::check_tables() {
  check_no_row_missing();
  JobControl control;
  datastore.clean({.full = true}, control);
  CHECK(findings().empty());
}

}  // namespace looseleaf::test

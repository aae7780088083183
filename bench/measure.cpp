// Programs under the clock, databases that come and go, and records.
#include "bench/measure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace looseleaf::bench {
namespace {

constexpr std::uint32_t server_count = 2;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double seconds_of(const rusage& usage) {
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

// Seconds that another process has used on processors.
double cpu_of(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  require(::clock_getcpuclockid(pid, &clock) == 0 && ::clock_gettime(clock, &used) == 0, "a server is lost");
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

pid_t spawn(const Program& program, const std::string& log) {
  std::vector<std::string> command = program.command;
  std::vector<char*> argv;
  for (std::string& argument : command) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, program.input.c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, program.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  require(error == 0, "cannot start " + command[0]);
  return pid;
}

}  // namespace

Settings parse_settings(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    require(i + 1 < argc, fmt::format("{} lacks a value", option));
    const std::string value = argv[i + 1];
    if (option == "--entities") {
      settings.entities = std::stoull(value);
    } else if (option == "--runs") {
      settings.runs = std::stoi(value);
    } else if (option == "--pool") {
      settings.pool = value;
    } else if (option == "--redo") {
      settings.redo = value;
    } else if (option == "--debian") {
      settings.debian = value;
    } else {
      throw std::runtime_error(fmt::format("no such option: {}", option));
    }
  }
  return settings;
}

const std::vector<std::string>& definitions() {
  static const std::vector<std::string> all = {
      R"({"table": "index_user_id", "properties": [{"name": "user_id", "type": "uuid"}], "shard_on": "user_id"})",
      R"({"table": "index_feed_id", "properties": [{"name": "feed_id", "type": "uuid"}, {"name": "published", "type": "int"}],
          "shard_on": "feed_id"})",
      R"({"table": "index_link", "properties": [{"name": "link", "type": "string", "max_length": 80}], "shard_on": "link"})",
  };
  return all;
}

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

namespace {

std::vector<std::string> server_options(const Settings& settings) {
  std::vector<std::string> options = {"--innodb-flush-log-at-trx-commit=1",
                                      "--innodb-buffer-pool-size=" + settings.pool};
  if (!settings.redo.empty()) {
    const bool mariadb = test::looseleaf_flavour() == "mariadb";
    options.push_back((mariadb ? "--innodb-log-file-size=" : "--innodb-redo-log-capacity=") + settings.redo);
  }
  return options;
}

}  // namespace

Servers::Servers(const Settings& settings)
    : cluster_({.shards = server_count, .servers = server_count, .extra_args = server_options(settings)}) {}

std::string Servers::write_entities(const std::string& name, std::uint64_t entities, std::uint64_t seed,
                                    std::uint64_t revision) const {
  const std::string file_path = path(name);
  std::ofstream file(file_path);
  Generator generator(entities, seed, revision);
  for (std::uint64_t i = 0; i < entities; ++i) {
    file << generator.next() << '\n';
  }
  require(static_cast<bool>(file.flush()), "cannot write " + file_path);
  return file_path;
}

// The generator's entities begin with their ids.
std::string Servers::write_ids(const std::string& entities) const {
  constexpr std::size_t before = 7, digits = 32;  // {"id":"
  std::ifstream file(entities);
  std::ofstream ids(path("ids"));
  for (std::string line; std::getline(file, line);) {
    ids << line.substr(before, digits) << '\n';
  }
  require(static_cast<bool>(ids.flush()), "cannot write the ids");
  return path("ids");
}

std::vector<std::string> Servers::write_definitions(std::size_t count) const {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) {
    paths.push_back(cluster_.directory().write(fmt::format("index{}.json", i), definitions()[i]));
  }
  return paths;
}

std::vector<std::string> Servers::client(std::uint32_t server, const std::string& database) const {
  std::vector<std::string> command{cluster_.client(), "--no-defaults", "--user=root",
                                   "--socket=" + cluster_.sandbox().server(server).socket};
  if (!database.empty()) {
    command.push_back("--database=" + database);
  }
  return command;
}

Usage Servers::run(const std::vector<Program>& programs) const {
  const double server = server_cpu();
  const auto start = Clock::now();
  std::vector<pid_t> pids;
  for (const Program& program : programs) {
    pids.push_back(spawn(program, path(fmt::format("log{}", pids.size()))));
  }
  Usage usage;
  std::string complaint;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    int status = 0;
    rusage used{};
    require(::wait4(pids[i], &status, 0, &used) == pids[i], "a program is lost");
    usage.client_cpu += seconds_of(used);
    usage.max_rss_kib = std::max(usage.max_rss_kib, static_cast<std::uint64_t>(used.ru_maxrss));
    if (status != 0) {
      std::ifstream log(path(fmt::format("log{}", i)));
      complaint = fmt::format("{}: status {}: {}", fmt::join(programs[i].command, " "), status,
                              std::string{std::istreambuf_iterator<char>(log), {}});
    }
  }
  usage.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  usage.server_cpu = server_cpu() - server;
  require(complaint.empty(), complaint);
  return usage;
}

Usage Servers::run_in_turn(const std::vector<Program>& programs) const {
  Usage sum;
  for (const Program& program : programs) {
    const Usage usage = run({program});
    sum.seconds += usage.seconds;
    sum.client_cpu += usage.client_cpu;
    sum.server_cpu += usage.server_cpu;
    sum.max_rss_kib = std::max(sum.max_rss_kib, usage.max_rss_kib);
  }
  return sum;
}

// A server closes the connections of a process that has ended a moment later.
void Servers::forget_connections() const {
  for (std::uint32_t server = 0; server < server_count; ++server) {
    const auto is_alone = [&] {
      return cluster_.server_sql(server, "SHOW GLOBAL STATUS LIKE 'Threads_connected'") == "Threads_connected\t1\n";
    };
    for (int tries = 0; tries < 100 && !is_alone(); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    cluster_.server_sql(server, "FLUSH STATUS");
  }
}

std::uint64_t Servers::most_connections() const {
  std::uint64_t most = 0;
  for (std::uint32_t server = 0; server < server_count; ++server) {
    const std::string row = cluster_.server_sql(server, "SHOW GLOBAL STATUS LIKE 'Max_used_connections'");
    most = std::max<std::uint64_t>(most, std::stoull(row.substr(row.find('\t') + 1)));
  }
  return most;
}

Usage Servers::run_with_own_clock(Program program) const {
  program.output = path("seconds");
  Usage usage = run({program});
  std::ifstream file(program.output);
  require(static_cast<bool>(file >> usage.seconds), program.command[0] + " does not say how long it took");
  usage.client_cpu = 0;
  return usage;
}

double Servers::own_cpu() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return seconds_of(used);
}

double Servers::server_cpu() const {
  double sum = 0;
  for (std::uint32_t server = 0; server < server_count; ++server) {
    sum += cpu_of(cluster_.sandbox().server(server).pid);
  }
  return sum;
}

Databases::Databases(const Servers& servers, std::uint32_t shards, const std::vector<std::string>* indexes,
                     const std::vector<std::string>& sockets)
    : servers_(servers), shards_(shards) {
  static int made = 0;
  prefix_ = fmt::format("bench{}", ++made);
  nlohmann::json cluster = {{"user", "root"}, {"defaults_file", servers.cluster().defaults_file()}};
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const std::string socket =
        sockets.empty() ? servers.cluster().socket(server_of(shard)) : sockets.at(server_of(shard));
    cluster["shards"].push_back({{"socket", socket}, {"database", name(shard)}});
  }
  file_ = servers.cluster().directory().write(prefix_ + ".json", cluster.dump());
  if (indexes == nullptr) {
    servers.cluster().server_sql(0, "CREATE DATABASE " + name(0));
    return;
  }
  servers.run({looseleaf({"init"})});
  if (!indexes->empty()) {
    std::vector<std::string> arguments{"create-index"};
    arguments.insert(arguments.end(), indexes->begin(), indexes->end());
    servers.run({looseleaf(arguments)});
  }
}

Databases::~Databases() {
  try {
    for (std::uint32_t shard = 0; shard < shards_; ++shard) {
      servers_.cluster().server_sql(server_of(shard), "DROP DATABASE IF EXISTS " + name(shard));
    }
  } catch (const std::exception& error) {
    note(error.what());
  }
}

std::string Databases::name(std::uint32_t shard) const {
  return fmt::format("{}_{}", prefix_, shard);
}

std::uint32_t Databases::server_of(std::uint32_t shard) const {
  return shard % server_count;
}

Program Databases::looseleaf(std::vector<std::string> arguments, const std::string& input) const {
  const std::vector<std::string> head{test::looseleaf_program(), "--cluster", file_, "--quiet"};
  arguments.insert(arguments.begin(), head.begin(), head.end());
  return {std::move(arguments), input, "/dev/null"};
}

void create_native(const Servers& servers, const Databases& databases) {
  servers.cluster().server_sql(0, fmt::format("CREATE TABLE {}.native (\n"
                                              "  added_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,\n"
                                              "  id BINARY(16) NOT NULL,\n"
                                              "  body JSON NOT NULL,\n"
                                              "  user_id BINARY(16) AS (UNHEX(JSON_VALUE(body, '$.user_id'))),\n"
                                              "  feed_id BINARY(16) AS (UNHEX(JSON_VALUE(body, '$.feed_id'))),\n"
                                              "  published BIGINT AS (JSON_VALUE(body, '$.published')),\n"
                                              "  link VARCHAR(80) AS (JSON_VALUE(body, '$.link')),\n"
                                              "  UNIQUE KEY (id),\n"
                                              "  KEY (user_id)\n"
                                              ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
                                              databases.name(0)));
}

std::string sibling(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

void record(const Label& label, std::uint64_t count, const Usage& usage) {
  nlohmann::json line = {{"work", label.work},
                         {"variant", label.variant},
                         {"by", label.by},
                         {"run", label.run},
                         {"count", count},
                         {"seconds", usage.seconds},
                         {"rate", static_cast<double>(count) / usage.seconds},
                         {"server_cpu", usage.server_cpu}};
  if (usage.client_cpu > 0) {
    line["client_cpu"] = usage.client_cpu;
  }
  if (usage.max_rss_kib > 0) {
    line["max_rss_mib"] = static_cast<double>(usage.max_rss_kib) / 1024;
  }
  if (usage.connections > 0) {
    line["connections"] = usage.connections;
  }
  std::cout << line.dump() << std::endl;
}

void record(const Label& label, std::vector<double> latencies, const std::optional<Usage>& usage) {
  std::sort(latencies.begin(), latencies.end());
  const double sum = std::accumulate(latencies.begin(), latencies.end(), 0.0);
  nlohmann::json line = {{"work", label.work},
                         {"variant", label.variant},
                         {"by", label.by},
                         {"run", label.run},
                         {"count", latencies.size()},
                         {"rate", static_cast<double>(latencies.size()) / sum},
                         {"p50_ms", latencies.at(latencies.size() / 2) * 1e3},
                         {"p99_ms", latencies.at(latencies.size() * 99 / 100) * 1e3}};
  if (usage) {
    line["client_cpu"] = usage->client_cpu;
    line["server_cpu"] = usage->server_cpu;
  }
  std::cout << line.dump() << std::endl;
}

void take_turns(const Servers& servers, const Label& label, std::size_t times, const Contenders& contenders) {
  note(fmt::format("{}, {}: run {}", label.work, label.variant, label.run));
  std::vector<std::vector<double>> latencies(contenders.size());
  std::vector<Usage> sums(contenders.size());
  const std::size_t count = contenders.size();
  for (std::size_t i = 0; i < times; ++i) {
    const bool backwards = i / count % 2 == 1;  // else with three of them the first is before the second twice in three
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t who = (i + (backwards ? count - turn : turn)) % count;
      const Usage usage = servers.timed([&] { contenders[who].second(i); });
      latencies[who].push_back(usage.seconds);
      sums[who].client_cpu += usage.client_cpu;
      sums[who].server_cpu += usage.server_cpu;
    }
  }
  for (std::size_t who = 0; who < contenders.size(); ++who) {
    record({label.work, label.variant, contenders[who].first, label.run}, latencies[who], sums[who]);
  }
}

void note(const std::string& text) {
  std::cerr << text << std::endl;
}

int run_main(std::string_view program, int argc, char** argv, void (*work)(const Settings&)) {
  try {
    work(parse_settings(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    note(fmt::format("{}: {}", program, error.what()));
    return 1;
  }
}

}  // namespace looseleaf::bench

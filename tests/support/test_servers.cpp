// Servers for tests, on top of the sandbox, with a watchdog that outlives the test program.
#include "tests/support/test_servers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <looseleaf/error.hpp>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/sql_client.hpp"

namespace looseleaf::test {
namespace {

namespace fs = std::filesystem;

// Errors of the fixtures are for people: everything in one line of text.
[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  // A long TMPDIR leaves no room for the names of sockets.
  return folder != nullptr && *folder != '\0' && std::string_view(folder).size() < 60 ? folder : "/tmp";
}

std::string make_directory(const std::string& parent) {
  std::string path = parent + "/ll-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    fail("no temporary directory can be made: " + path);
  }
  return path;
}

void spawn_in_new_session(std::vector<std::string> command, int pipe) {
  std::vector<char*> argv;
  for (std::string& argument : command) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, pipe, STDIN_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    fail("the watchdog does not start");
  }
  ::waitpid(pid, nullptr, 0);
}

// `read` returns when every copy of the pipe's writing end is closed. The part in parentheses runs on after its shell,
// in a session of its own and not as our child: neither Ctrl-C nor a test driver that kills process trees reaches it.
constexpr const char* watchdog_script = R"(exec 3<&0
(
  read -r _ <&3
  for file in "$0"/box/s*.pid; do
    pid=$(cat "$file" 2>/dev/null) || continue
    tr '\0' '\n' < "/proc/$pid/cmdline" 2>/dev/null | grep -qxF -e "--datadir=${file%.pid}" && kill -9 "$pid"
  done
  for _ in 1 2 3 4 5; do rm -rf "$0" 2>/dev/null && break; sleep 1; done
) </dev/null >/dev/null 2>&1 &)";

// The client program that belongs to the server: beside it, else an installed one.
std::string client_program(const cli::ServerProgram& server) {
  const fs::path bin = fs::path(server.path).parent_path();
  const bool mysql = server.flavour == cli::Flavour::mysql;
  for (const char* name : {mysql ? "mysql" : "mariadb", mysql ? "mariadb" : "mysql"}) {
    for (const fs::path& path : {bin / name, bin.parent_path() / "bin" / name}) {
      if (fs::exists(path)) {
        return path.string();
      }
    }
  }
  return mysql ? "mysql" : "mariadb";
}

std::atomic<int> clusters_made{0};

// What a server changes by itself.
bool changes_by_itself(std::string_view name) {
  return name.starts_with("gtid_") || name == "timestamp";
}

using Settings = std::map<std::string, std::string, std::less<>>;

}  // namespace

TemporaryDirectory::TemporaryDirectory(const std::string& parent)
    : path_(make_directory(parent.empty() ? temporary_folder() : parent)) {}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string TemporaryDirectory::write(const std::string& name, std::string_view text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    fail("a file cannot be written: " + path);
  }
  return path;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // what of a file in /proc cannot be read, because its process ends now, is absent
  return text.str();
}

Watchdog::Watchdog(const std::string& directory) : alive_(-1) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    fail("no pipe for the watchdog");
  }
  const cli::Descriptor watched(pipe[0]);
  alive_ = cli::Descriptor(pipe[1]);
  spawn_in_new_session({"/bin/sh", "-c", watchdog_script, directory}, watched.get());
}

class TestServers {
 public:
  TestServers(std::uint32_t servers, const TestClusterOptions& options)
      : watchdog_(directory_.path()), sandbox_(start(directory_.path() + "/box", servers, options)) {
    client_ = client_program(sandbox_.program());
  }
  TestServers(const TestServers&) = delete;
  TestServers& operator=(const TestServers&) = delete;
  ~TestServers() {
    for (std::uint32_t server = 0; server < sandbox_.servers(); ++server) {
      sandbox_.kill_server(server);
    }
  }

  [[nodiscard]] cli::Sandbox& sandbox() { return sandbox_; }
  [[nodiscard]] const std::string& directory() const { return directory_.path(); }
  [[nodiscard]] const std::string& client() const { return client_; }

  std::string sql(std::uint32_t server, const std::string& database, const std::string& text) const {
    return run_sql(sandbox_.server(server).socket, database, text);
  }

 private:
  static cli::Sandbox start(const std::string& dir, std::uint32_t servers, const TestClusterOptions& wanted) {
    cli::SandboxOptions options;
    options.dir = dir;
    options.shards = servers;
    options.server = wanted.server;
    options.buffer_pool_mib = 32;
    // As in a new data directory, so that the server does not first make another log. MySQL does not know the option.
    options.extra_args = {"--loose-innodb-log-file-size=10M"};
    options.extra_args.insert(options.extra_args.end(), wanted.extra_args.begin(), wanted.extra_args.end());
    try {
      return cli::Sandbox::start(options);
    } catch (const Error& error) {
      std::string text = error.what();
      for (const auto& [key, value] : error.context()) {
        text += fmt::format("\n  {}: {}", key, value);
      }
      fail(text);
    }
  }

  TemporaryDirectory directory_;
  Watchdog watchdog_;
  cli::Sandbox sandbox_;
  std::string client_;
};

TestCluster::TestCluster(const TestClusterOptions& options)
    : TestCluster(std::make_shared<TestServers>(options.servers == 0 ? options.shards : options.servers, options),
                  options.shards) {}

namespace {

Settings settings_of(const TestServers& servers, std::uint32_t server) {
  Settings settings;
  std::istringstream lines(servers.sql(server, {}, "SHOW GLOBAL VARIABLES"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos && !changes_by_itself(std::string_view(line).substr(0, tab))) {
      settings[line.substr(0, tab)] = line.substr(tab + 1);
    }
  }
  return settings;
}

// Those that all tests of the process share, and what their settings were.
struct SharedServers {
  std::shared_ptr<TestServers> servers;
  std::vector<Settings> settings;
};

SharedServers& shared_servers() {
  static SharedServers shared;
  return shared;
}

}  // namespace

TestCluster TestCluster::shared(std::uint32_t shards) {
  static std::once_flag started;
  SharedServers& shared = shared_servers();
  std::call_once(started, [&] {
    shared.servers = std::make_shared<TestServers>(2, TestClusterOptions());
    for (std::uint32_t server = 0; server < 2; ++server) {
      shared.settings.push_back(settings_of(*shared.servers, server));
    }
  });
  return TestCluster(shared.servers, shards);
}

std::string changed_settings_of_shared_servers() {
  SharedServers& shared = shared_servers();
  std::string text;
  for (std::uint32_t server = 0; server < shared.settings.size(); ++server) {
    Settings now;
    try {
      now = settings_of(*shared.servers, server);
    } catch (const std::exception& error) {
      text += fmt::format("  server {}: {}\n", server, error.what());
      continue;
    }
    Settings& before = shared.settings[server];
    for (const auto& [name, value] : now) {
      if (before[name] != value) {
        text += fmt::format("  server {}: {} was '{}' and is '{}'\n", server, name, before[name], value);
      }
    }
    before = std::move(now);
  }
  return text;
}

TestCluster::TestCluster(std::shared_ptr<TestServers> servers, std::uint32_t shards)
    : servers_(std::move(servers)),
      directory_(std::make_shared<TemporaryDirectory>(servers_->directory())),
      shards_(shards),
      prefix_(fmt::format("t{}", ++clusters_made)) {
  write_file("looseleaf.json", fmt::format(R"("user": "root", "defaults_file": "{}")", defaults_file()));
}

std::string TestCluster::write_file(const std::string& name, const std::string& members) const {
  std::string list;
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    list += fmt::format(R"({}{{"socket": "{}", "database": "{}"}})", shard == 0 ? "" : ", ", socket(shard),
                        database(shard));
  }
  return directory_->write(name, fmt::format("{{\"shards\": [{}], {}}}\n", list, members));
}

std::string TestCluster::file() const {
  return directory_->path() + "/looseleaf.json";
}

std::string TestCluster::database(std::uint32_t shard) const {
  return fmt::format("{}_{}", prefix_, shard);
}

std::string TestCluster::socket(std::uint32_t shard) const {
  return sandbox().server(server_of(shard)).socket;
}

std::uint32_t TestCluster::server_of(std::uint32_t shard) const {
  return shard % sandbox().servers();
}

std::string TestCluster::defaults_file() const {
  return sandbox().dir() + "/client.cnf";
}

const std::string& TestCluster::client() const {
  return servers_->client();
}

cli::Sandbox& TestCluster::sandbox() const {
  return servers_->sandbox();
}

std::string TestCluster::sql(std::uint32_t shard, const std::string& statements) const {
  return servers_->sql(server_of(shard), database(shard), statements);
}

std::string TestCluster::server_sql(std::uint32_t server, const std::string& statements) const {
  return servers_->sql(server, {}, statements);
}

std::string TestCluster::everywhere(const std::string& statements) const {
  std::string printed;
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    printed += sql(shard, statements);
  }
  return printed;
}

std::uint64_t TestCluster::status(std::uint32_t server, const std::string& variable) const {
  const std::string row = server_sql(server, "SHOW GLOBAL STATUS LIKE '" + variable + "'");
  return std::stoull(row.substr(row.find('\t')));
}

void TestCluster::kill_sessions() const {
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    kill_sessions(shard);
  }
}

void TestCluster::kill_sessions(std::uint32_t shard) const {
  const std::string found = server_sql(
      server_of(shard), fmt::format("SELECT id FROM information_schema.processlist WHERE db = '{}'", database(shard)));
  std::istringstream sessions(found);
  for (std::string session; std::getline(sessions, session);) {
    try {
      server_sql(server_of(shard), "KILL " + session);
    } catch (const std::runtime_error& error) {
      if (std::string_view(error.what()).find("error 1094") == std::string_view::npos) {  // it has ended by itself
        throw;
      }
    }
  }
}

bool TestCluster::await_lock_wait(std::uint32_t shard) const {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (status(server_of(shard), "Innodb_row_lock_current_waits") == 0) {
    if (std::chrono::steady_clock::now() > give_up) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void TestCluster::create_databases() const {
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    servers_->sql(server_of(shard), {}, "CREATE DATABASE " + database(shard));
  }
}

cli::ProcessResult TestCluster::looseleaf(std::vector<std::string> arguments, std::string_view input) const {
  arguments.insert(arguments.begin(), {"looseleaf", "--cluster", file()});
  return run(std::move(arguments), input);
}

cli::Process TestCluster::start(std::vector<std::string> arguments, std::string_view input,
                                const std::string& failpoints) const {
  arguments.insert(arguments.begin(),
                   {"env", "LOOSELEAF_FAILPOINT=" + failpoints, looseleaf_program(), "--cluster", file()});
  return test::start(std::move(arguments), input);
}

cli::Process TestCluster::stop_at(const std::string& failpoint, std::vector<std::string> arguments,
                                  std::string_view input) const {
  cli::Process process = start(std::move(arguments), input, failpoint + "=stop");
  if (!wait_until_stopped(process)) {
    fail(failpoint + " was not reached: " + process.err());
  }
  return process;
}

void TestCluster::die_at(const std::string& failpoint, std::vector<std::string> arguments,
                         std::string_view input) const {
  const cli::ProcessResult result = start(std::move(arguments), input, failpoint + "=kill").wait();
  if (result.status != 128 + SIGKILL) {
    fail(failpoint + " was not reached: " + result.err);
  }
}

std::string looseleaf_flavour() {
  return cli::find_server({}).flavour == cli::Flavour::mysql ? "mysql" : "mariadb";
}

std::string looseleaf_program() {
  const char* path = std::getenv("LOOSELEAF_BIN");
  if (path == nullptr || *path == '\0') {
    fail("LOOSELEAF_BIN does not name the program under test; CTest sets it");
  }
  return path;
}

cli::ProcessResult run(std::vector<std::string> command, std::string_view input) {
  return start(std::move(command), input).wait();
}

cli::Process start(std::vector<std::string> command, std::string_view input) {
  if (command.at(0) == "looseleaf") {
    command[0] = looseleaf_program();
  }
  return cli::Process::start(command, input);
}

bool wait_until_stopped(const cli::Process& process) {
  const std::string file = fmt::format("/proc/{}/stat", process.pid());
  while (!cli::is_gone(process.pid())) {
    const std::string stat = read_text(file);
    const std::size_t name_end = stat.rfind(") ");
    if (name_end != std::string::npos && stat[name_end + 2] == 'T') {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace looseleaf::test

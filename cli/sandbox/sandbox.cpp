// The sandbox: its directory, its servers' lives, and its cluster file.
#include "cli/sandbox/sandbox.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <looseleaf/error.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "cli/files/file_lock.hpp"
#include "cli/files/replace_file.hpp"
#include "cli/sandbox/processes.hpp"

namespace looseleaf::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_socket_path = 106;
constexpr auto start_limit = std::chrono::seconds(60);
constexpr auto stop_limit = std::chrono::seconds(30);
constexpr const char* marker_name = "looseleaf-sandbox";

std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

// Runs `work` and turns what std::filesystem throws into our own error.
template <typename Work>
auto with_file_errors(const Work& work) {
  try {
    return work();
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::io, "a file operation failed",
                {{"path", error.path1().string()}, {"reason", error.code().message()}},
                "check the folder's permissions and the free space");
  }
}

// True if a server accepts connections here: its handshake packet starts with the protocol version, 10.
bool answers(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{5, 0};
  ::setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::array<char, 5> head{};
  const bool ok = ::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                  ::recv(file, head.data(), head.size(), MSG_WAITALL) == static_cast<ssize_t>(head.size()) &&
                  head[4] == 10;
  ::close(file);
  return ok;
}

Error start_failure(const char* what, const SandboxServer& server) {
  Error::Context context{{"server", std::to_string(server.number)}, {"log", server.log}};
  std::ifstream file(server.log);
  for (const std::string& line : last_lines(file)) {
    context.emplace_back("log line", line);
  }
  return Error(ErrorCode::io, what, context, "read the end of the log for the reason");
}

void wait_until_ready(const SandboxServer& server, pid_t pid, const std::function<void()>& between) {
  const auto limit = Clock::now() + start_limit;
  while (!answers(server.socket)) {
    between();
    if (is_gone(pid)) {
      throw start_failure("a server ended while it started", server);
    }
    if (Clock::now() > limit) {
      throw start_failure("a server does not answer", server);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

bool wait_until_gone(pid_t pid, Clock::time_point limit) {
  while (!is_gone(pid)) {
    if (Clock::now() > limit) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

pid_t read_pid(const std::string& datadir) {
  std::ifstream file(datadir + ".pid");
  pid_t pid = 0;
  return file >> pid && pid > 0 ? pid : 0;
}

Error not_a_sandbox(const std::string& dir) {
  return Error(ErrorCode::usage, "this directory is not a sandbox", {{"dir", dir}},
               "name a sandbox's directory, or for start an empty or new one");
}

bool holds_nothing(const std::string& dir) {
  return !fs::exists(dir) || (fs::is_directory(dir) && fs::is_empty(dir));
}

Error disagreement(const std::string& dir, const char* what, const std::string& has, const std::string& wanted) {
  return Error(ErrorCode::usage, "the sandbox exists with different options",
               {{"dir", dir}, {"option", what}, {"has", has}, {"wanted", wanted}},
               "leave the option out, delete the sandbox first, or use another directory");
}

}  // namespace

std::string sandbox_directory(const std::string& dir) {
  fs::path path = fs::weakly_canonical(fs::absolute(dir.empty() ? ".sandbox" : dir));
  if (path.filename().empty()) {
    path = path.parent_path();
  }
  return path.string();
}

Sandbox Sandbox::start(const SandboxOptions& options) {
  return with_file_errors([&] {
    Sandbox sandbox(sandbox_directory(options.dir));
    if (!fs::exists(fs::path(sandbox.dir_) / marker_name)) {
      sandbox.create(options);
    }
    const FileLock lock(sandbox.dir_ + "/lock");
    sandbox.load();
    sandbox.check(options);
    sandbox.adopt(options);
    sandbox.write_cluster_file();
    sandbox.start_servers(sandbox.all(), options.between);
    return sandbox;
  });
}

Sandbox Sandbox::open(const std::string& dir) {
  if (auto sandbox = find(dir)) {
    return *std::move(sandbox);
  }
  const std::string where = sandbox_directory(dir);
  throw Error(ErrorCode::usage, "there is no sandbox", {{"dir", where}},
              fmt::format("`looseleaf sandbox start --dir {}` makes one", where));
}

std::optional<Sandbox> Sandbox::find(const std::string& dir) {
  return with_file_errors([&]() -> std::optional<Sandbox> {
    Sandbox sandbox(sandbox_directory(dir));
    if (holds_nothing(sandbox.dir_)) {
      return std::nullopt;
    }
    sandbox.load();
    return sandbox;
  });
}

std::string Sandbox::cluster_file() const {
  return dir_ + "/looseleaf.json";
}

SandboxServer Sandbox::server(std::uint32_t number) const {
  if (number >= servers_) {
    throw Error(ErrorCode::usage, "the sandbox has no such server", {{"server", std::to_string(number)}});
  }
  SandboxServer server;
  server.number = number;
  server.datadir = fmt::format("{}/s{}", dir_, number);
  server.socket = server.datadir + ".sock";
  server.log = server.datadir + ".log";
  server.tmpdir = server.datadir + ".tmp";
  const pid_t pid = read_pid(server.datadir);
  server.running = pid != 0 && runs_with_argument(pid, "--datadir=" + server.datadir);
  server.pid = server.running ? pid : 0;
  return server;
}

SandboxStatus Sandbox::status() const {
  SandboxStatus status{dir_, cluster_file(), shards_, program_, {}};
  for (const std::uint32_t number : all()) {
    status.servers.push_back(server(number));
  }
  return status;
}

SandboxStop Sandbox::stop() {
  const FileLock lock(dir_ + "/lock");
  return stop_servers(all(), SIGTERM);
}

SandboxRemoval Sandbox::remove() {
  const FileLock lock(dir_ + "/lock");
  SandboxRemoval result{stop_servers(all(), SIGTERM), 0};
  return with_file_errors([&] {
    remove_files();
    const auto left = std::distance(fs::directory_iterator(dir_), fs::directory_iterator());
    result.left = static_cast<std::size_t>(left);
    if (result.left == 0) {
      fs::remove(dir_);
    }
    return result;
  });
}

void Sandbox::start_server(std::uint32_t number) {
  const FileLock lock(dir_ + "/lock");
  start_servers({number});
}

void Sandbox::stop_server(std::uint32_t number) {
  const FileLock lock(dir_ + "/lock");
  stop_servers({number}, SIGTERM);
}

void Sandbox::kill_server(std::uint32_t number) {
  const FileLock lock(dir_ + "/lock");
  stop_servers({number}, SIGKILL);
}

void Sandbox::create(const SandboxOptions& options) {
  // Check the marker last, because another process may be creating this sandbox.
  if (!holds_nothing(dir_) && !fs::exists(fs::path(dir_) / marker_name)) {
    throw not_a_sandbox(dir_);
  }
  shards_ = options.shards == 0 ? 2 : options.shards;
  servers_ = options.servers == 0 ? shards_ : options.servers;
  if (servers_ > shards_) {
    throw Error(ErrorCode::usage, "more servers than shards",
                {{"servers", std::to_string(servers_)}, {"shards", std::to_string(shards_)}},
                "raise --shards or lower --servers: every server holds at least one shard");
  }
  if (servers_ > most_sandbox_servers) {
    throw Error(ErrorCode::usage, "too many servers for one machine",
                {{"servers", std::to_string(servers_)}, {"most", std::to_string(most_sandbox_servers)}},
                "give --servers: several shards may share a server");
  }
  if (const std::string socket = fmt::format("{}/s{}.sock", dir_, servers_ - 1); socket.size() > longest_socket_path) {
    throw Error(ErrorCode::usage, "the directory's name is too long for sockets in it",
                {{"socket", socket}, {"longest", std::to_string(longest_socket_path)}},
                "use a directory with a shorter name, such as /tmp/looseleaf");
  }
  program_ = find_server(options.server);
  fs::create_directories(dir_);
  fs::permissions(dir_, fs::perms::owner_all);
  save();
}

// Settings of the servers may change from one start to the next.
void Sandbox::adopt(const SandboxOptions& options) {
  if (options.buffer_pool_mib != 0) {
    buffer_pool_mib_ = options.buffer_pool_mib;
  }
  if (!options.extra_args.empty()) {
    args_ = options.extra_args;
  }
  save();
}

void Sandbox::check(const SandboxOptions& options) const {
  if (options.shards != 0 && options.shards != shards_) {
    throw disagreement(dir_, "shards", std::to_string(shards_), std::to_string(options.shards));
  }
  if (options.servers != 0 && options.servers != servers_) {
    throw disagreement(dir_, "servers", std::to_string(servers_), std::to_string(options.servers));
  }
  if (const std::string server = requested_server(options.server); !server.empty()) {
    if (const std::string wanted = find_server(server).path; wanted != program_.path) {
      throw disagreement(dir_, "server", program_.path, wanted);
    }
  }
}

// The marker file: one "key value" a line.
void Sandbox::load() {
  std::ifstream file(fs::path(dir_) / marker_name);
  if (!file) {
    throw not_a_sandbox(dir_);
  }
  args_.clear();
  for (std::string key, value; file >> key && std::getline(file >> std::ws, value);) {
    if (key == "shards") {
      std::istringstream(value) >> shards_;
    } else if (key == "servers") {
      std::istringstream(value) >> servers_;
    } else if (key == "buffer_pool_mib") {
      std::istringstream(value) >> buffer_pool_mib_;
    } else if (key == "flavour") {
      program_.flavour = value == "mysql" ? Flavour::mysql : Flavour::mariadb;
    } else if (key == "program") {
      program_.path = value;
    } else if (key == "version") {
      program_.version = value;
    } else if (key == "arg") {
      args_.push_back(value);
    }
  }
  if (shards_ == 0 || servers_ == 0 || program_.path.empty()) {
    throw not_a_sandbox(dir_);
  }
}

void Sandbox::save() const {
  std::string text = fmt::format(
      "shards {}\nservers {}\nbuffer_pool_mib {}\nflavour {}\nprogram {}\nversion {}\n", shards_, servers_,
      buffer_pool_mib_, program_.flavour == Flavour::mysql ? "mysql" : "mariadb", program_.path, program_.version);
  for (const std::string& arg : args_) {
    text += fmt::format("arg {}\n", arg);
  }
  replace_file(dir_ + "/" + marker_name, text, private_file);
}

// Does not change an existing file, because its owner may have added to it.
void Sandbox::write_cluster_file() const {
  if (fs::exists(cluster_file())) {
    return;
  }
  // With an option file of its own, the sandbox ignores the user's ~/.my.cnf.
  const std::string option_file = dir_ + "/client.cnf";
  replace_file(option_file, "[client]\nuser=root\n", private_file);
  std::string text = "{\n  \"shards\": [\n";
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    const std::string database = servers_ == shards_ ? "looseleaf" : fmt::format("looseleaf_{}", shard);
    text += fmt::format("    {{\"socket\": {}, \"database\": \"{}\"}}{}\n",
                        json_string(server(shard % servers_).socket), database, shard + 1 < shards_ ? "," : "");
  }
  text += fmt::format("  ],\n  \"user\": \"root\",\n  \"defaults_file\": {}\n}}\n", json_string(option_file));
  replace_file(cluster_file(), text, private_file);
}

void Sandbox::start_servers(const std::vector<std::uint32_t>& numbers, const std::function<void()>& between) {
  std::vector<std::uint32_t> launched;
  try {
    for (const std::uint32_t number : numbers) {
      between();
      const SandboxServer now = server(number);
      if (!now.running) {
        launch(now);
        launched.push_back(number);
      }
    }
    for (const std::uint32_t number : numbers) {
      const SandboxServer now = server(number);
      wait_until_ready(now, read_pid(now.datadir), between);
    }
  } catch (...) {
    stop_servers(launched, SIGTERM);
    throw;
  }
}

void Sandbox::launch(const SandboxServer& server) const {
  if (!fs::exists(server.datadir)) {
    create_data_directory(program_, server.datadir, dir_ + "/cache");
  }
  // A server that was killed a moment ago may still hold its files.
  if (const pid_t old = read_pid(server.datadir); old != 0 && is_ending(old)) {
    wait_until_gone(old, Clock::now() + std::chrono::seconds(5));
  }
  fs::create_directory(server.tmpdir);
  fs::remove(server.socket);
  fs::remove(server.socket + ".lock");
  const pid_t pid = start_daemon(command(server), server.log);
  try {
    replace_file(server.datadir + ".pid", fmt::format("{}\n", pid), private_file);
  } catch (...) {
    ::kill(pid, SIGTERM);  // nobody would find it again
    throw;
  }
}

SandboxStop Sandbox::stop_servers(const std::vector<std::uint32_t>& numbers, int signal) {
  SandboxStop result;
  std::vector<SandboxServer> running;
  for (const std::uint32_t number : numbers) {
    if (const SandboxServer now = server(number); now.running) {
      ::kill(now.pid, signal);
      running.push_back(now);
    }
  }
  const auto limit = Clock::now() + stop_limit;
  for (const SandboxServer& ending : running) {
    if (!wait_until_gone(ending.pid, limit)) {
      ::kill(ending.pid, SIGKILL);
      wait_until_gone(ending.pid, Clock::now() + stop_limit);
      result.killed.push_back(ending.number);
    }
  }
  result.stopped = static_cast<std::uint32_t>(running.size());
  return result;
}

// An interrupted start may have left unfinished files.
void Sandbox::remove_files() const {
  std::vector<std::string> paths;
  for (const std::uint32_t number : all()) {
    const SandboxServer now = server(number);
    const std::string pid = now.datadir + ".pid";
    paths.insert(paths.end(), {now.datadir, now.datadir + ".new", now.tmpdir, now.socket, now.socket + ".lock", now.log,
                               pid, unfinished_of(pid)});
  }
  paths.push_back(dir_ + "/cache");
  for (const char* name : {"client.cnf", "looseleaf.json"}) {
    const std::string file = dir_ + "/" + name;
    paths.insert(paths.end(), {file, unfinished_of(file)});
  }
  // Delete the marker last: if this is interrupted, the rest can still be recognised and deleted. Without a marker no
  // process starts a server, so the lock is not needed after that.
  const std::string marker = dir_ + "/" + marker_name;
  paths.insert(paths.end(), {unfinished_of(marker), marker, dir_ + "/lock"});
  for (const std::string& path : paths) {
    fs::remove_all(path);
  }
}

std::vector<std::uint32_t> Sandbox::all() const {
  std::vector<std::uint32_t> numbers(servers_);
  for (std::uint32_t number = 0; number < servers_; ++number) {
    numbers[number] = number;
  }
  return numbers;
}

std::vector<std::string> Sandbox::command(const SandboxServer& server) const {
  std::vector<std::string> result{program_.path,
                                  "--no-defaults",
                                  "--datadir=" + server.datadir,
                                  "--socket=" + server.socket,
                                  "--pid-file=" + server.datadir + "/server.pid",
                                  "--tmpdir=" + server.tmpdir,
                                  fmt::format("--server-id={}", server.number + 1),
                                  "--skip-networking",
                                  "--skip-log-bin",
                                  "--sync-binlog=1",
                                  "--innodb-flush-log-at-trx-commit=1",
                                  fmt::format("--innodb-buffer-pool-size={}M", buffer_pool_mib_),
                                  "--max-allowed-packet=64M",
                                  "--max-connections=200",
                                  "--character-set-server=utf8mb4",
                                  "--key-buffer-size=64K",  // only MyISAM uses it, and 128M take long to set up
                                  "--performance-schema=OFF"};
  if (::geteuid() == 0) {
    result.emplace_back("--user=root");
  }
  if (program_.flavour == Flavour::mysql) {
    result.emplace_back("--mysqlx=OFF");
    result.emplace_back("--secure-file-priv=NULL");
  } else {
    result.emplace_back("--innodb-log-file-size=96M");
    result.emplace_back("--aria-pagecache-buffer-size=8M");  // only for temporary tables
  }
  result.insert(result.end(), args_.begin(), args_.end());
  return result;
}

}  // namespace looseleaf::cli

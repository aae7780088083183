// Finding a server program, and making data directories for it by copying a cached template.
#include "cli/sandbox/server_program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <looseleaf/error.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <vector>

#include "cli/files/file_lock.hpp"
#include "cli/sandbox/processes.hpp"

namespace looseleaf::cli {
namespace {

namespace fs = std::filesystem;

// Increase it when templates are created in another way, so that old ones are not used.
constexpr int template_recipe = 1;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> first_program(const std::vector<fs::path>& folders) {
  for (const char* name : {"mariadbd", "mysqld"}) {
    for (const fs::path& folder : folders) {
      if (is_program(folder / name)) {
        return folder / name;
      }
    }
  }
  return std::nullopt;
}

std::vector<fs::path> installed_folders() {
  std::vector<fs::path> folders;
  std::istringstream path(environment("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (!folder.empty()) {
      folders.emplace_back(folder);
    }
  }
  for (const char* folder : {"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/libexec"}) {
    folders.emplace_back(folder);
  }
  return folders;
}

fs::path locate(const std::string& wanted) {
  if (wanted.empty()) {
    if (const auto found = first_program(installed_folders())) {
      return *found;
    }
    throw Error(
        ErrorCode::io, "no server program is installed", {{"looked for", "mariadbd, mysqld"}},
        "install one (on Debian mariadb-server-core), or name a program or its folder in LOOSELEAF_TEST_SERVER");
  }
  const fs::path path = fs::absolute(wanted);
  if (is_program(path)) {
    return path;
  }
  if (const auto found = first_program({path / "bin", path / "sbin", path})) {
    return *found;
  }
  throw Error(ErrorCode::io, "there is no server program here", {{"path", path.string()}},
              "name a mariadbd or mysqld program, or a folder that holds one in bin/");
}

// "mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu ..." gives "10.11.14-MariaDB-0+deb12u2".
std::string version_of(const fs::path& program) {
  const ProcessResult result = run_process({program.string(), "--no-defaults", "--version"});
  std::istringstream words(result.out);
  for (std::string word; words >> word;) {
    if (word == "Ver" && words >> word && result.status == 0) {
      return word;
    }
  }
  throw Error(ErrorCode::io, "the server program does not tell its version",
              {{"program", program.string()}, {"status", std::to_string(result.status)}},
              "run it with --version and see why");
}

// Asks each program once: a server takes 40 ms to say its version, and a test program asks for hundreds of servers.
std::string known_version_of(const fs::path& program) {
  static std::mutex mutex;
  static std::map<fs::path, std::string> versions;
  const std::lock_guard lock(mutex);
  std::string& version = versions[program];
  if (version.empty()) {
    version = version_of(program);
  }
  return version;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The statements that make MariaDB's system tables; the files' names depend on the version.
std::string mariadb_bootstrap_sql(const ServerProgram& server) {
  const fs::path prefix = fs::path(server.path).parent_path().parent_path();
  for (const fs::path& root : {prefix, fs::path("/usr"), fs::path("/usr/local")}) {
    for (const char* folder : {"share/mariadb", "share/mysql", "share"}) {
      for (const char* name : {"mariadb", "mysql"}) {
        const std::string stem = (root / folder / name).string();
        if (fs::exists(stem + "_system_tables.sql")) {
          return "create database mysql;\nuse mysql;\n" + read_file(stem + "_system_tables.sql") +
                 read_file(stem + "_performance_tables.sql") + read_file(stem + "_system_tables_data.sql");
        }
      }
    }
  }
  throw Error(ErrorCode::io, "the server's system table definitions cannot be found",
              {{"program", server.path}, {"looked for", "mariadb_system_tables.sql, mysql_system_tables.sql"}},
              "install the server's share/ folder beside its program");
}

// Throws if the command failed, with the end of its output.
void check_success(const std::vector<std::string>& command, const ProcessResult& result, const char* what) {
  if (result.status == 0) {
    return;
  }
  Error::Context context{{"program", command.front()}, {"status", std::to_string(result.status)}};
  std::istringstream said(result.err.empty() ? result.out : result.err);
  for (const std::string& line : last_lines(said)) {
    context.emplace_back("output", line);
  }
  throw Error(ErrorCode::io, what, context);
}

void run_bootstrap(std::vector<std::string> command, std::string_view input) {
  if (::geteuid() == 0) {
    command.insert(command.begin() + 2, "--user=root");
  }
  check_success(command, run_process(command, input), "the server could not make a data directory");
}

void bootstrap(const ServerProgram& server, const fs::path& datadir) {
  const std::string datadir_option = "--datadir=" + datadir.string();
  if (server.flavour == Flavour::mysql) {
    run_bootstrap({server.path, "--no-defaults", "--initialize-insecure", "--innodb-redo-log-capacity=8M",
                   "--skip-log-bin", datadir_option},
                  {});
    fs::remove(datadir / "auto.cnf");  // each server creates an identity of its own
    return;
  }
  fs::create_directories(datadir);
  const fs::path script = fs::path(server.path).parent_path() / "mariadb-bootstrap";
  if (is_program(script)) {
    const std::vector<std::string> command{script.string(), datadir.string()};
    check_success(command, run_process(command), "the server could not make a data directory");
    return;
  }
  run_bootstrap({server.path, "--no-defaults", "--bootstrap", "--innodb-log-file-size=10M", datadir_option},
                mariadb_bootstrap_sql(server));
}

fs::path cache_folder(const std::string& fallback) {
  std::vector<fs::path> candidates;
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) {
    candidates.push_back(fs::path(cache) / "looseleaf");
  } else if (const std::string home = environment("HOME"); !home.empty()) {
    candidates.push_back(fs::path(home) / ".cache" / "looseleaf");
  }
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    fs::create_directories(candidate, error);
    if (::access(candidate.c_str(), W_OK | X_OK) == 0) {
      return candidate;
    }
  }
  fs::create_directories(fallback);
  return fallback;
}

std::string template_name(const ServerProgram& server) {
  struct stat status {};
  ::stat(server.path.c_str(), &status);
  std::string name = fmt::format("{}-{}-{}-{}", server.flavour == Flavour::mysql ? "mysql" : "mariadb", server.version,
                                 static_cast<long long>(status.st_mtim.tv_sec), template_recipe);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') {
      c = '_';
    }
  }
  return name;
}

fs::path template_directory(const ServerProgram& server, const std::string& fallback_cache) {
  const fs::path cache = cache_folder(fallback_cache);
  const fs::path result = cache / template_name(server);
  const FileLock lock((cache / "lock").string());
  if (!fs::exists(result)) {
    const fs::path unfinished = result.string() + ".new";
    fs::remove_all(unfinished);
    bootstrap(server, unfinished);
    fs::rename(unfinished, result);
  }
  return result;
}

}  // namespace

std::string requested_server(const std::string& wanted) {
  return wanted.empty() ? environment("LOOSELEAF_TEST_SERVER") : wanted;
}

ServerProgram find_server(const std::string& wanted) {
  const fs::path path = locate(requested_server(wanted));
  const std::string version = known_version_of(path);
  const bool mariadb = version.find("MariaDB") != std::string::npos;
  return {mariadb ? Flavour::mariadb : Flavour::mysql, path.string(), version};
}

void create_data_directory(const ServerProgram& server, const std::string& datadir, const std::string& fallback_cache) {
  const fs::path source = template_directory(server, fallback_cache);
  const std::string unfinished = datadir + ".new";
  fs::remove_all(unfinished);
  const std::vector<std::string> command{"cp", "-a", "--sparse=always", "--reflink=auto", source.string(), unfinished};
  check_success(command, run_process(command), "the template data directory cannot be copied");
  fs::rename(unfinished, datadir);
}

}  // namespace looseleaf::cli

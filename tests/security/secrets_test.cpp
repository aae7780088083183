// A password that nobody else knows: it is in nothing that the program prints, shows of itself or leaves behind.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* canary = "Zq7-canary-Xw9";

// An account with the canary as its password, and files that lead to it.
class WithCanary {
 public:
  WithCanary() : cluster(initialised(1)) {
    cluster.server_sql(0, fmt::format("CREATE USER IF NOT EXISTS canary@localhost IDENTIFIED BY '{}'; "
                                      "GRANT ALL ON *.* TO canary@localhost",
                                      canary));
    create_index(cluster, by_n);
    put_all(cluster, entity(1, "\"n\":1"));
  }

  // A file that nobody else may read.
  [[nodiscard]] std::string secret(const std::string& name, const std::string& text) const {
    const std::string path = cluster.directory().write(name, text);
    ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
    return path;
  }

  [[nodiscard]] std::string cluster_file(const std::string& user, const std::string& options) const {
    return cluster.write_file("canary.json", fmt::format(R"("user": "{}", "defaults_file": "{}")", user, options));
  }

  TestCluster cluster;
};

// With LOOSELEAF_PASSWORD_FILE, if that is not empty.
cli::ProcessResult run_with(const std::string& password_file, std::vector<std::string> arguments,
                            std::string_view input) {
  arguments.insert(arguments.begin(), {"env", "LOOSELEAF_PASSWORD_FILE=" + password_file, looseleaf_program()});
  return run(std::move(arguments), input);
}

// What a program prints on a terminal of its own, on which somebody answers the first prompt.
std::string run_on_terminal(const std::vector<std::string>& command, std::string_view prompt, std::string_view answer) {
  std::vector<char*> argv;
  for (const std::string& argument : command) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  REQUIRE(pid > 0);
  const cli::Descriptor file(terminal);
  std::string shown;
  bool answered = false;
  std::array<char, 4096> bytes{};
  constexpr int patience = 60'000;  // milliseconds
  pollfd readable{terminal, POLLIN, 0};
  while (true) {
    if (::poll(&readable, 1, patience) != 1) {
      ::kill(pid, SIGKILL);
      break;
    }
    const ssize_t got = ::read(terminal, bytes.data(), bytes.size());
    if (got <= 0) {
      break;
    }
    shown.append(bytes.data(), static_cast<std::size_t>(got));
    if (!answered && contains(shown, prompt)) {
      answered = ::write(terminal, answer.data(), answer.size()) > 0;
    }
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  CHECK(answered);
  return fmt::format("{}\nstatus {}", shown, WEXITSTATUS(status));
}

const std::vector<std::vector<std::string>> commands = {
    {"status"}, {"init"},  {"put"},      {"get", id_of(1)},   {"query", "by_n", "n>0", "--explain"},
    {"verify"}, {"clean"}, {"backfill"}, {"delete", id_of(9)}};

TEST_CASE("a password is in nothing that the program prints, whether it is right or wrong") {
  const WithCanary setup;
  const std::string password_file = setup.secret("password", std::string(canary) + "\n");
  const std::string option = fmt::format("[client]\npassword={}\n", canary);
  const std::vector<std::pair<std::string, std::string>> routes = {{option, ""},
                                                                   {"[client]\nuser=nobody\n", password_file}};
  for (const auto& [option_text, named] : routes) {
    const std::string options = setup.secret("options.cnf", option_text);
    for (const std::string user : {"canary", "somebody_else"}) {
      const std::string file = setup.cluster_file(user, options);
      for (auto command : commands) {
        command.insert(command.end(), {"--cluster", file, "--verbose", "--timeout", "20"});
        for (const std::string output : {"text", "json"}) {
          CAPTURE(command[0]);
          command.insert(command.end(), {"--output", output});
          const cli::ProcessResult result = run_with(named, command, entity(2, "\"n\":2"));
          CHECK((result.status == 3) == (user != "canary"));
          CHECK_FALSE(contains(result.out + result.err, canary));
        }
      }
    }
  }
}

TEST_CASE("a password that stands where it should not is refused and not repeated") {
  const WithCanary setup;
  const std::string password = canary;
  const std::string file = setup.cluster.file();
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& what) {
    const cli::ProcessResult result = run_with("", arguments, "");
    check_status(result, 2, {"looseleaf: error: " + what + "\n", "hint: "});
    CHECK_FALSE(contains(result.out + result.err, canary));
  };
  for (const auto& option : std::vector<std::vector<std::string>>{
           {"--password=" + password}, {"--password", password}, {"--passwd=" + password}, {"-p" + password}}) {
    refused(joined({"status", "--cluster", file}, option), "passwords are not allowed on the command line");
  }
  const auto cluster_with = [&](const std::string& text) {
    return std::vector<std::string>{"status", "--cluster", setup.cluster.directory().write("bad.json", text)};
  };
  refused(cluster_with(R"({"shards": ["h"], "password": ")" + password + "\"}"),
          "the cluster file contains a password");
  refused(cluster_with(R"({"shards": ["app:)" + password + "@h:3306/d\"]}"), "invalid address");
  for (const std::string text :
       {"password={}\n", "[client]\n[oops {}\n", "[client]\n={}\n", "[client]\n!password {}\n"}) {
    const std::string options = setup.secret("bad.cnf", fmt::format(fmt::runtime(text), canary));
    const cli::ProcessResult result = run({"looseleaf", "--cluster", file, "--defaults-file", options, "status"});
    CHECK(result.status == 2);
    CHECK_FALSE(contains(result.out + result.err, canary));
  }
}

TEST_CASE("a prompt asks for the password and does not show it") {
  constexpr const char* prompt = "Password for shard 0 (canary at ";
  const WithCanary setup;
  const std::string file = setup.cluster_file("canary", setup.secret("options.cnf", ""));
  const std::vector<std::string> command = {looseleaf_program(), "--cluster", file, "get", id_of(1)};
  const std::string right = run_on_terminal(command, prompt, std::string(canary) + "\n");
  CHECK(holds_in_order(right, {prompt, id_of(1), "status 0"}));
  CHECK_FALSE(contains(right, canary));
  const auto denied = [&] {
    const std::string row = setup.cluster.server_sql(0, "SHOW GLOBAL STATUS LIKE 'Aborted_connects'");
    return std::stoi(row.substr(row.find('\t') + 1));
  };
  const int before = denied();
  const std::string jobs = run_on_terminal({looseleaf_program(), "--cluster", file, "verify", "--grace", "0"}, prompt,
                                           std::string(canary) + "\n");
  CHECK(contains(jobs, "status 0"));
  CHECK(denied() - before == 1);  // the first session asks for it, and no other tries without it
  const std::string wrong = run_on_terminal(command, prompt, std::string(canary) + "?\n");
  CHECK(holds_in_order(wrong, {"the server denied access", "status 3"}));
  CHECK_FALSE(contains(wrong, canary));
}

TEST_CASE("each user's password is asked for once, also for the sessions of a dry run") {
  const StoreFixture store;
  Cluster file = Cluster::load(store.cluster.file());
  for (const std::uint32_t shard : {0U, 1U}) {
    const std::string user = fmt::format("typed{}", shard);
    store.cluster.server_sql(store.cluster.server_of(shard),
                             fmt::format("CREATE USER IF NOT EXISTS {0}@localhost IDENTIFIED BY 'of {0}'; "
                                         "GRANT ALL ON *.* TO {0}@localhost",
                                         user));
    file.shards[shard].user = user;
  }
  file.defaults_file.clear();
  std::vector<std::string> asked;
  Options options;
  options.ask_password = [&](const std::string& prompt) {
    const std::size_t user = prompt.find("typed");
    asked.push_back(prompt.substr(user, std::string_view("typed0").size()));
    return "of " + asked.back();
  };
  Datastore datastore = Datastore::open(file, options);
  CHECK(datastore.plan_indexes({IndexDefinition::parse(by_n, "test")}).size() == 1);
  std::sort(asked.begin(), asked.end());
  CHECK(asked == std::vector<std::string>{"typed0", "typed1"});
}

// A put that has logged in and is stopped in the middle of its work. Cores may be as large as they like, as far as
// whoever starts it is concerned.
class StoppedPut {
 public:
  StoppedPut(const WithCanary& setup, const std::string& directory)
      : process_(start({"sh", "-c", R"(ulimit -c unlimited; cd "$0" && LOOSELEAF_PASSWORD_FILE="$1" \
                          LOOSELEAF_FAILPOINT=put.fence:after=stop exec "$2" --cluster "$3" put)",
                        directory, setup.secret("password", canary), looseleaf_program(),
                        setup.cluster_file("canary", setup.secret("options.cnf", ""))},
                       entity(3, "\"n\":3"))) {
    REQUIRE(wait_until_stopped(process_));
  }
  [[nodiscard]] std::string shown(const std::string& name) const {
    return read_text(fmt::format("/proc/{}/{}", process_.pid(), name));
  }
  // As a crash would, with the signal that asks for a core.
  cli::ProcessResult crash() {
    process_.signal(SIGSEGV);
    process_.signal(SIGCONT);
    return process_.wait();
  }

 private:
  cli::Process process_;
};

TEST_CASE("a running program shows no password among its arguments and variables" * needs_failpoints) {
  const WithCanary setup;
  const TemporaryDirectory directory;
  StoppedPut put(setup, directory.path());
  CHECK(contains(put.shown("cmdline"), "put"));
  CHECK_FALSE(contains(put.shown("cmdline"), canary));
  CHECK(contains(put.shown("environ"), "LOOSELEAF_PASSWORD_FILE"));
  CHECK_FALSE(contains(put.shown("environ"), canary));
  CHECK(contains(put.shown("limits"), "Max core file size        1 "));
}

TEST_CASE("a program that crashes leaves no core file" * needs_failpoints) {
  const WithCanary setup;
  const TemporaryDirectory directory;
  StoppedPut put(setup, directory.path());
  CHECK(put.crash().status == 128 + SIGSEGV);
  CHECK(std::filesystem::is_empty(directory.path()));
  const cli::ProcessResult other =
      run({"sh", "-c", R"(ulimit -c unlimited; cd "$0" && sh -c 'kill -SEGV $$')", directory.path()});
  if (other.status != 128 + SIGSEGV || std::filesystem::is_empty(directory.path())) {
    MESSAGE("no other program leaves one here either");
  }
}

}  // namespace
}  // namespace looseleaf::test

// The sandbox: servers start, survive, are kept apart and go away.
#include "cli/sandbox/sandbox.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <looseleaf/error.hpp>
#include <string>

#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf {
namespace {

namespace fs = std::filesystem;
using cli::Sandbox;
using cli::SandboxOptions;

// A sandbox that is gone at the end of the test, whatever happened in between.
class Fixture {
 public:
  Fixture() : watchdog_(directory_.path()) { options.dir = directory_.path() + "/box"; }
  ~Fixture() {
    if (fs::exists(options.dir + "/looseleaf-sandbox")) {
      const Sandbox left = Sandbox::open(options.dir);
      for (const cli::SandboxServer& server : left.status().servers) {
        if (server.running) {
          ::kill(server.pid, SIGKILL);
        }
      }
    }
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  [[nodiscard]] const std::string& folder() const { return directory_.path(); }

  SandboxOptions options;

 private:
  test::TemporaryDirectory directory_;
  test::Watchdog watchdog_;
};

std::string refusal(const SandboxOptions& options) {
  return test::error_of([&] { return Sandbox::start(options); }).what();
}

TEST_CASE("starting again keeps the servers that run and restarts the dead ones") {
  Fixture fixture;
  Sandbox sandbox = Sandbox::start(fixture.options);
  const pid_t first = sandbox.server(0).pid;
  const pid_t second = sandbox.server(1).pid;
  CHECK(first > 0);
  CHECK(first != second);
  sandbox.kill_server(1);
  CHECK(!sandbox.server(1).running);

  const Sandbox again = Sandbox::start(fixture.options);
  CHECK(again.server(0).pid == first);
  CHECK(again.server(1).running);
  CHECK(again.server(1).pid != second);
}

TEST_CASE("stopping ends all servers and deleting removes the directory") {
  Fixture fixture;
  Sandbox sandbox = Sandbox::start(fixture.options);
  CHECK(sandbox.stop().stopped == 2);
  CHECK(!sandbox.server(0).running);
  CHECK(!sandbox.server(1).running);
  CHECK(sandbox.stop().stopped == 0);
  sandbox.remove();
  CHECK(!fs::exists(fixture.options.dir));
}

TEST_CASE("deleting leaves what the sandbox did not make, and then its directory") {
  Fixture fixture;
  fixture.options.shards = 1;
  Sandbox sandbox = Sandbox::start(fixture.options);
  sandbox.kill_server(0);
  const fs::path dir = fixture.options.dir;
  fs::create_directory(dir / "s1");
  std::ofstream(dir / "s1" / "precious") << "data";
  std::ofstream(dir / "looseleaf.json.orig") << "data";
  CHECK(sandbox.remove().left == 2);
  CHECK(test::read_text(dir / "s1" / "precious") == "data");
  CHECK(test::read_text(dir / "looseleaf.json.orig") == "data");
  CHECK(std::distance(fs::directory_iterator(dir), fs::directory_iterator()) == 2);
}

TEST_CASE("the delete command says whether the directory is gone") {
  Fixture fixture;
  fixture.options.shards = 1;
  for (const bool holds_other_file : {true, false}) {
    CAPTURE(holds_other_file);
    Sandbox::start(fixture.options);
    const std::string other_file = fixture.options.dir + "/notes";
    if (holds_other_file) {
      std::ofstream(other_file) << "data";
    }
    const cli::ProcessResult result = test::run({"looseleaf", "sandbox", "delete", "--dir", fixture.options.dir});
    CHECK(result.status == 0);
    CHECK(result.out.empty());
    CHECK(result.err == (holds_other_file ? "looseleaf: deleted the sandbox in " + fixture.options.dir +
                                                ", but not the directory, which holds 1 other file\n"
                                          : "looseleaf: deleted " + fixture.options.dir + "\n"));
    CHECK(fs::exists(other_file) == holds_other_file);
    CHECK(fs::exists(fixture.options.dir) == holds_other_file);
    fs::remove(other_file);
  }
}

TEST_CASE("where there is no sandbox there is nothing to stop or delete, and status says how to make one") {
  Fixture fixture;
  const std::string& dir = fixture.options.dir;
  for (const bool exists : {false, true}) {
    CAPTURE(exists);
    if (exists) {
      fs::create_directories(dir);
    }
    for (const char* action : {"stop", "delete"}) {
      CAPTURE(action);
      const cli::ProcessResult result = test::run({"looseleaf", "sandbox", action, "--dir", dir});
      CHECK(result.status == 0);
      CHECK(result.out.empty());
      CHECK(result.err == "looseleaf: there is no sandbox in " + dir + "\n");
    }
    const cli::ProcessResult status = test::run({"looseleaf", "sandbox", "status", "--dir", dir});
    CHECK(status.status == 2);
    CHECK(status.out.empty());
    CHECK(status.err == "looseleaf: error: there is no sandbox\n  dir: " + dir +
                            "\nhint: `looseleaf sandbox start --dir " + dir + "` makes one\n");
    CHECK(fs::exists(dir) == exists);
  }
  const cli::ProcessResult json =
      test::run({"looseleaf", "sandbox", "delete", "--dir", dir, "--output", "json", "--quiet"});
  CHECK(json.status == 0);
  CHECK(json.out == "{\"schema_version\":1,\"stopped\":0}\n");
  CHECK(json.err.empty());
}

TEST_CASE("several shards may share a server and then have databases of their own") {
  Fixture fixture;
  fixture.options.shards = 3;
  fixture.options.servers = 1;
  const Sandbox sandbox = Sandbox::start(fixture.options);
  const std::string cluster = test::read_text(sandbox.cluster_file());
  CHECK(cluster.find("\"looseleaf_0\"") != std::string::npos);
  CHECK(cluster.find("\"looseleaf_2\"") != std::string::npos);
  CHECK(sandbox.status().servers.size() == 1);
  CHECK(fs::status(fixture.options.dir).permissions() == fs::perms::owner_all);
}

TEST_CASE("another number of shards is refused and nothing is changed") {
  Fixture fixture;
  fixture.options.shards = 1;
  const Sandbox sandbox = Sandbox::start(fixture.options);
  fixture.options.shards = 2;
  CHECK(refusal(fixture.options) == "the sandbox exists with different options");
  CHECK(sandbox.server(0).running);
}

TEST_CASE("a server that only the environment names is asked for, too, of a sandbox that exists") {
  Fixture fixture;
  static_cast<void>(Sandbox::start(fixture.options));
  const char* const usual = std::getenv("LOOSELEAF_TEST_SERVER");
  const std::string before = usual == nullptr ? "" : usual;
  ::setenv("LOOSELEAF_TEST_SERVER", "/nonexistent", 1);
  std::string said;
  try {
    static_cast<void>(Sandbox::start(fixture.options));
  } catch (const Error& error) {
    said = error.what();
  }
  before.empty() ? ::unsetenv("LOOSELEAF_TEST_SERVER") : ::setenv("LOOSELEAF_TEST_SERVER", before.c_str(), 1);
  CHECK(said == "there is no server program here");
}

TEST_CASE("a directory that holds anything else is neither used nor deleted") {
  Fixture fixture;
  fs::create_directories(fixture.options.dir);
  std::ofstream(fixture.options.dir + "/precious") << "data";
  CHECK(refusal(fixture.options) == "this directory is not a sandbox");
  CHECK_THROWS_WITH_AS(static_cast<void>(Sandbox::open(fixture.options.dir)), "this directory is not a sandbox", Error);
  CHECK(fs::exists(fixture.options.dir + "/precious"));
}

TEST_CASE("a directory whose name is too long for a socket is refused before anything is made") {
  Fixture fixture;
  fixture.options.dir += std::string(100, 'x');
  CHECK(refusal(fixture.options) == "the directory's name is too long for sockets in it");
  CHECK(!fs::exists(fixture.options.dir));
}

TEST_CASE("a server that cannot start shows the end of its log") {
  Fixture fixture;
  fixture.options.shards = 1;
  fixture.options.extra_args = {"--no-such-option-of-any-server"};
  bool shown = false;
  const Error error = test::error_of([&] { return Sandbox::start(fixture.options); });
  for (const auto& [key, value] : error.context()) {
    shown = shown || (key == "log line" && value.find("no-such-option-of-any-server") != std::string::npos);
  }
  CHECK(shown);
}

TEST_CASE("a start that is given up stops what it has started, and nothing else") {
  Fixture fixture;
  fixture.options.shards = 3;
  Sandbox sandbox = Sandbox::start(fixture.options);
  const pid_t first = sandbox.server(0).pid;
  sandbox.kill_server(1);
  sandbox.kill_server(2);
  fixture.options.between = [&] {
    if (sandbox.server(1).running) {
      throw Error(ErrorCode::interrupted, "given up");
    }
  };
  CHECK(refusal(fixture.options) == "given up");
  CHECK(sandbox.server(0).pid == first);
  CHECK(!sandbox.server(1).running);
  CHECK(!sandbox.server(2).running);
}

TEST_CASE("a start that is stopped by a signal says so, and leaves no server running") {
  const Fixture fixture;
  const std::string& dir = fixture.options.dir;
  const auto start_and_stop = [&] {
    cli::Process start = test::start({"looseleaf", "sandbox", "start", "--shards", "3", "--dir", dir});
    test::wait_until("it starts servers", [&] { return fs::exists(dir + "/s0.pid"); });
    return test::end_by(SIGINT, start);
  };
  cli::ProcessResult result = start_and_stop();
  for (int tries = 0; tries < 5 && result.status == 0; ++tries) {  // all servers ran before the signal came
    REQUIRE(test::run({"looseleaf", "sandbox", "delete", "--dir", dir}).status == 0);
    result = start_and_stop();
  }
  CHECK(result.status == 130);
  CHECK(result.out.empty());
  CHECK(result.err ==
        "looseleaf: interrupted; the started servers were stopped, and "
        "`looseleaf sandbox delete --dir " +
            dir + "` deletes the files\n");
  for (const cli::SandboxServer& server : Sandbox::open(dir).status().servers) {
    CHECK(!server.running);
  }
}

TEST_CASE("servers die with the test program that started them, however it ends") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const test::TestCluster cluster({.shards = 1, .servers = 0, .extra_args = {}});
    const pid_t server = cluster.sandbox().server(0).pid;
    ::_exit(::write(pipe[1], &server, sizeof server) == static_cast<ssize_t>(sizeof server) ? 0 : 1);
  }
  ::close(pipe[1]);
  pid_t server = 0;
  REQUIRE(::read(pipe[0], &server, sizeof server) == static_cast<ssize_t>(sizeof server));
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  test::wait_until("the server is gone", [&] { return cli::is_gone(server); });
}

}  // namespace
}  // namespace looseleaf

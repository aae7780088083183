// Servers that answer and refuse: read-only, wrong password, full disk.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <looseleaf/datastore.hpp>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

// A user with a password, and cluster files that log in as that user.
class WithPassword {
 public:
  WithPassword() : cluster(initialised(1)) {
    cluster.server_sql(0, "CREATE USER IF NOT EXISTS app@localhost; GRANT ALL ON *.* TO app@localhost");
    set_password("right");
  }

  void set_password(const std::string& password) const {
    cluster.server_sql(0, fmt::format("ALTER USER app@localhost IDENTIFIED BY '{}'", password));
  }

  void end_sessions() const { cluster.kill_sessions(0); }

  // A cluster file that names this option file.
  [[nodiscard]] std::string cluster_file(const std::string& option_file) const {
    return cluster.write_file("app.json", fmt::format(R"("user": "app", "defaults_file": "{}")", option_file));
  }

  // A file that nobody else may read.
  [[nodiscard]] std::string secret(const std::string& name, const std::string& text) const {
    const std::string path = cluster.directory().write(name, text);
    ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
    return path;
  }

  TestCluster cluster;
};

cli::ProcessResult get_as(const std::string& cluster_file, const std::string& password_file = {}) {
  const char* command = R"(LOOSELEAF_PASSWORD_FILE="$2" "$LOOSELEAF_BIN" --cluster "$0" get "$1" --timeout 2)";
  return run({"sh", "-c", command, cluster_file, id_of(1), password_file});
}

TEST_CASE("a password comes from an option file or from LOOSELEAF_PASSWORD_FILE") {
  const WithPassword setup;
  put_all(setup.cluster, entity(1));
  const std::string empty = setup.secret("empty.cnf", "");
  const std::string right = setup.secret("right", "right\n");
  for (const std::string group : {"client", "looseleaf"}) {
    CAPTURE(group);
    const std::string file = setup.secret("right.cnf", fmt::format("[{}]\npassword=right\n", group));
    check_run(get_as(setup.cluster_file(file)), 0, entity(1) + "\n");
  }
  check_run(get_as(setup.cluster_file(empty), right), 0, entity(1) + "\n");
}

// A pipe can be read once, and a process opens more than one connection.
TEST_CASE("a password may come from a pipe") {
  const WithPassword setup;
  put_all(setup.cluster, entity(1));
  const std::string pipe = setup.cluster.directory().path() + "/pipe";
  const char* command = R"(mkfifo "$2"; (echo right > "$2" &); LOOSELEAF_PASSWORD_FILE="$2" \
timeout 20 "$LOOSELEAF_BIN" --cluster "$0" get "$1" --timeout 2)";
  check_run(run({"sh", "-c", command, setup.cluster_file(setup.secret("empty.cnf", "")), id_of(1), pipe}), 0,
            entity(1) + "\n");
}

TEST_CASE("a process takes a new password from the option file once the server refuses the old one") {
  const WithPassword setup;
  put_all(setup.cluster, entity(1));
  const std::string file = setup.secret("app.cnf", "[client]\npassword=right\n");
  const Datastore datastore = Datastore::open(Cluster::load(setup.cluster_file(file)));
  for (const std::string password : {"right", "new", "newer"}) {
    setup.set_password(password);
    static_cast<void>(setup.secret("app.cnf", "[client]\npassword=" + password + "\n"));
    const auto refused = setup.cluster.status(0, "Aborted_connects");
    for (int connection = 0; connection < 3; ++connection) {
      setup.end_sessions();
      CHECK(datastore.get({*Uuid::parse(id_of(1))}).front());
    }
    CHECK(setup.cluster.status(0, "Aborted_connects") - refused <= 1);
  }
}

// So it does not matter whether the file or the server is changed first.
TEST_CASE("a process uses the old password until the server refuses it, and then says why it knows no other") {
  const WithPassword setup;
  put_all(setup.cluster, entity(1));
  const std::string file = setup.secret("app.cnf", "[client]\npassword=right\n");
  const Datastore datastore = Datastore::open(Cluster::load(setup.cluster_file(file)));
  const std::vector<Uuid> ids = {*Uuid::parse(id_of(1))};
  CHECK(datastore.get(ids).front());
  static_cast<void>(setup.secret("app.cnf", "[client]\npassword=new\n"));
  setup.end_sessions();
  CHECK(datastore.get(ids).front());

  setup.set_password("new");
  ::chmod(file.c_str(), 0644);
  setup.end_sessions();
  const auto refused = setup.cluster.status(0, "Aborted_connects");
  const Error error = error_of([&] { return datastore.get(ids); });
  CHECK(std::string(error.what()) == "the server denied access");
  CHECK(context_of(error, "not read again") ==
        "a file with a password is accessible to other users (file: " + file + ")");
  CHECK(error.hint() == "run chmod o-rw on the file");
  CHECK(setup.cluster.status(0, "Aborted_connects") - refused == 1);
}

TEST_CASE("while a password is changed, each server gets the one that it accepts") {
  const TestCluster cluster = initialised_alone(2);
  put_all(cluster, entity(1) + entity(2));
  const auto set_password = [&](std::uint32_t server, const std::string& password) {
    cluster.server_sql(server,
                       fmt::format("CREATE USER IF NOT EXISTS app@localhost; GRANT ALL ON *.* TO app@localhost; "
                                   "ALTER USER app@localhost IDENTIFIED BY '{}'",
                                   password));
  };
  set_password(0, "old");
  set_password(1, "old");
  const std::string file = cluster.directory().write("app.cnf", "[client]\npassword=old\n");
  ::chmod(file.c_str(), S_IRUSR | S_IWUSR);
  const Datastore datastore = Datastore::open(
      Cluster::load(cluster.write_file("app.json", fmt::format(R"("user": "app", "defaults_file": "{}")", file))));
  const std::vector<Uuid> ids = {*Uuid::parse(id_of(1)), *Uuid::parse(id_of(2))};
  CHECK(datastore.get(ids).size() == 2);
  static_cast<void>(cluster.directory().write("app.cnf", "[client]\npassword=new\n"));
  for (const std::uint32_t server : {1U, 0U}) {
    set_password(server, "new");
    for (int connection = 0; connection < 2; ++connection) {
      cluster.kill_sessions();
      for (const auto& entity : datastore.get(ids)) {
        CHECK(entity);
      }
    }
  }
}

TEST_CASE("a wrong or missing password is refused at once, with advice and without the password") {
  const WithPassword setup;
  const std::string wrong_options = setup.secret("wrong.cnf", "[client]\npassword=hunter2\n");
  const std::string empty = setup.secret("empty.cnf", "");
  const std::string wrong = setup.secret("wrong", "hunter2\n");
  const std::vector<std::string> check_option_files = {
      "hint: check the user in the cluster file, and user and password in the option files"};
  const std::vector<std::string> check_password_file = {
      "password file: " + wrong + "\n",
      "hint: check the user in the cluster file and the option files, and the password in the password file"};
  for (const auto& [result, advice] : {std::pair(get_as(setup.cluster_file(wrong_options)), check_option_files),
                                       std::pair(get_as(setup.cluster_file(empty), wrong), check_password_file),
                                       std::pair(get_as(setup.cluster_file(empty)), check_option_files)}) {
    check_run(result, 3, "", joined({"looseleaf: error: the server denied access\n", "code: 1045\n"}, advice));
    CHECK(result.err.find("hunter2") == std::string::npos);
  }
}

TEST_CASE("a put whose login every server refuses reads nothing of the input and keeps the rejects file") {
  const WithPassword setup;
  const std::string wrong = setup.secret("wrong.cnf", "[client]\npassword=hunter2\n");
  const std::string rejects = setup.cluster.directory().write("rejects", "kept");
  const std::string put = R"("$LOOSELEAF_BIN" --cluster "$0" put --rejects "$1")";
  check_run(run({"sh", "-c", put, setup.cluster_file(wrong), rejects}, entity(1)), 3, "",
            {"looseleaf: error: the server denied access\n", "code: 1045\n"});
  CHECK(read_text(rejects) == "kept");
}

TEST_CASE("a password file that others may read is refused") {
  const WithPassword setup;
  const std::string empty = setup.secret("empty.cnf", "");
  const std::string open_to_all = setup.secret("right", "right\n");
  ::chmod(open_to_all.c_str(), 0644);
  check_run(get_as(setup.cluster_file(empty), open_to_all), 2, "", {"looseleaf: error: ", open_to_all, "hint: "});
}

TEST_CASE("a user without privileges is told what is missing") {
  const WithPassword setup;
  setup.cluster.server_sql(0, "CREATE USER IF NOT EXISTS poor@localhost");
  const std::string empty = setup.secret("empty.cnf", "[client]\nuser=poor\n");
  const std::string file = setup.cluster.write_file("poor.json", fmt::format(R"("defaults_file": "{}")", empty));
  check_run(get_as(file), 3, "",
            {"looseleaf: error: the server denied access to the database\n", "shard: 0\n", "hint: grant"});
  const cli::ProcessResult status = run({"looseleaf", "--cluster", file, "status"});
  check_status(status, 3, {"looseleaf: error: the server denied access to the database\n"});
  CHECK(holds_in_order(status.out, {setup.cluster.socket(0), " refused"}));
}

TEST_CASE("a server that refuses a login stops no write to other servers, and is not asked again for each shard") {
  const TestCluster cluster({.shards = 24, .servers = 2, .extra_args = {}});
  check_status(cluster.looseleaf({"init", "--quiet"}), 0);
  for (const std::uint32_t server : {0U, 1U}) {
    cluster.server_sql(server, fmt::format("CREATE USER IF NOT EXISTS locked_out@localhost IDENTIFIED BY 'p{}'; "
                                           "GRANT ALL ON *.* TO locked_out@localhost",
                                           server));
  }
  const std::string secret = cluster.directory().write("p0.cnf", "[client]\nuser=locked_out\npassword=p0\n");
  ::chmod(secret.c_str(), S_IRUSR | S_IWUSR);
  const std::string file = cluster.write_file("app.json", fmt::format(R"("defaults_file": "{}")", secret));
  const auto run_it = [&](const std::string& command, const std::string& input) {
    return run({"sh", "-c", R"("$LOOSELEAF_BIN" --cluster "$0" )" + command, file}, input);
  };
  check_status(run_it("put --quiet", entity(0) + entity(2)), 0);  // on the server that takes the password
  const auto refused = [&] { return cluster.status(1, "Aborted_connects"); };
  for (const std::string command : {"get -", "status", "put"}) {
    CAPTURE(command);
    const auto before = refused();
    check_status(run_it(command, command == "put" ? entity_lines(48) : id_lines(48)), 3,
                 {"the server denied access\n", "hint: "});
    CHECK(refused() - before <= 4);
  }
  // Rows of the index are on both servers.
  create_index(cluster, by_n_sharded);
  const auto before = refused();
  const auto begin = std::chrono::steady_clock::now();
  std::string input;
  for (std::uint64_t number = 0; number < 12'000; number += 2) {  // entities on the server that takes the password
    input += entity(number, fmt::format(R"("n":{})", number / 2)) + "\n";
  }
  check_status(run_it("put --quiet", input), 3, {"the server denied access\n"});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  CHECK(refused() - before <= static_cast<std::uint64_t>(4 + seconds.count()));
  cluster.server_sql(0, "DROP USER locked_out@localhost");
  cluster.server_sql(1, "DROP USER locked_out@localhost");
}

TEST_CASE("a read-only server is written by nobody, root included") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(0) + entity(1));
  cluster.server_sql(1, "SET GLOBAL read_only = 1");
  check_run(cluster.looseleaf({"put", "--timeout", "2"}, entity(0, "\"a\":1") + entity(1, "\"a\":1")), 3,
            id_of(0) + "\n",
            {"looseleaf: error: the server is read-only\n", "line: 1\n", "shard: 1\n",
             "hint: ", "stored 1 entity, failed 1\n"});
  const cli::ProcessResult status = cluster.looseleaf({"status"});
  check_status(status, 3, {"looseleaf: error: the server is read-only\n", "shard: 1\n"});
  CHECK(holds_in_order(status.out, {cluster.socket(0), " up ", cluster.socket(1), " refused"}));
  cluster.server_sql(1, "SET GLOBAL read_only = 0");
  check_run(cluster.looseleaf({"get", id_of(0), id_of(1)}), 0, entity(0, "\"a\":1") + "\n" + entity(1) + "\n");
}

}  // namespace
}  // namespace looseleaf::test

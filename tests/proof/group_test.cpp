// A shard on MySQL's group replication: three servers, of which one is the primary. Its death, and a primary that is
// cut off from the others, cost time and nothing else. MariaDB has no group replication.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/failpoint.hpp"
#include "tests/proof/faulty_servers.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t members = 3, alone = 3;  // the server that is in no group has shard 1

// A port of loopback that nobody listens on.
std::uint16_t free_port() {
  const cli::Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

// Shard 0 is on the group, shard 1 on a server of its own. The program reaches the primary through a proxy, as through
// a router.
class Group {
 public:
  Group()
      : recovery_(""),
        servers_({.shards = 4,
                  .servers = 0,
                  .extra_args = {"--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
                                 "--plugin-load-add=group_replication.so", "--report-host=127.0.0.1",
                                 fmt::format("--report-port={}", recovery_.port())}}),
        to_primary_(servers_.socket(0)) {
    recovery_.lead_to(servers_.socket(0));
    std::vector<std::uint16_t> ports;
    std::string seeds;
    for (std::uint32_t member = 0; member < members; ++member) {
      ports.push_back(free_port());
      seeds += fmt::format("{}127.0.0.1:{}", seeds.empty() ? "" : ",", ports.back());
    }
    for (std::uint32_t member = 0; member < members; ++member) {
      const auto set = [&](const std::string& name, const std::string& value) {
        servers_.server_sql(member, fmt::format("SET GLOBAL group_replication_{} = {}", name, value));
      };
      set("group_name", "'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'");
      set("local_address", fmt::format("'127.0.0.1:{}'", ports[member]));
      set("group_seeds", fmt::format("'{}'", seeds));
      set("recovery_get_public_key", "ON");
      set("member_expel_timeout", "0");
      set("bootstrap_group", member == 0 ? "ON" : "OFF");
      servers_.server_sql(member,
                          "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'; "
                          "START GROUP_REPLICATION");
      set("bootstrap_group", "OFF");
    }
    for (std::uint32_t member = 0; member < members; ++member) {
      wait_until("all are online", [&] { return online(member) == members; });
    }
    for (const std::uint32_t server : {0U, alone}) {
      servers_.server_sql(server,
                          "CREATE USER app@localhost; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON "
                          "looseleaf.* TO app@localhost");
    }
    file_ = servers_.directory().write(
        "group.json",
        fmt::format(R"({{"shards": ["127.0.0.1:{}", {{"socket": "{}"}}], "ssl_mode": "disabled", "user": "app",
                          "defaults_file": "{}"}})",
                    to_primary_.port(), servers_.socket(alone), servers_.directory().write("empty.cnf", "")));
  }

  [[nodiscard]] cli::Process start(std::vector<std::string> arguments, std::string_view input = {},
                                   const std::string& failpoints = {}) const {
    arguments.insert(arguments.begin(),
                     {"env", "LOOSELEAF_FAILPOINT=" + failpoints, looseleaf_program(), "--cluster", file_});
    return looseleaf::test::start(std::move(arguments), input);
  }
  [[nodiscard]] cli::ProcessResult looseleaf(std::vector<std::string> arguments, std::string_view input = {}) const {
    return start(std::move(arguments), input).wait();
  }

  // How many members are online, as this one sees it.
  [[nodiscard]] std::uint32_t online(std::uint32_t member) const {
    return static_cast<std::uint32_t>(std::stoul(servers_.server_sql(
        member, "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'")));
  }
  void signal(std::uint32_t member, int number) const {
    REQUIRE(::kill(servers_.sandbox().server(member).pid, number) == 0);
  }
  // The proxy leads to the one of these members that becomes the primary.
  void follow_primary(const std::vector<std::uint32_t>& among) {
    wait_until("a primary is elected", [&] {
      for (const std::uint32_t member : among) {
        if (servers_.server_sql(member,
                                "SELECT @@super_read_only = 0 AND @@server_uuid = (SELECT member_id FROM "
                                "performance_schema.replication_group_members WHERE member_role = 'PRIMARY' "
                                "AND member_state = 'ONLINE')") == "1\n") {
          to_primary_.lead_to(servers_.socket(member));
          return true;
        }
      }
      return false;
    });
  }

  [[nodiscard]] std::string write(const std::string& name, std::string_view text) const {
    return servers_.directory().write(name, text);
  }

 private:
  FaultProxy recovery_;  // who joins copies from the first server
  TestCluster servers_;
  FaultProxy to_primary_;
  std::string file_;
};

std::string entities(std::uint64_t count, std::uint64_t added) {
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) {
    text += entity(i, fmt::format("\"n\":{}", i + added)) + "\n";
  }
  return text;
}

TEST_CASE("the death of a group's primary costs a put and a verify nothing but time") {
  if (!on_mysql()) {
    return;
  }
  Group group;
  constexpr std::uint64_t count = 10'000;
  check_status(group.looseleaf({"init", "--quiet"}), 0);
  check_status(group.looseleaf({"create-index", group.write("by_n.json", by_n_sharded), "--quiet"}), 0);
  check_run(group.looseleaf({"put"}, entities(count, 0)), 0, id_lines(count));
  cli::Process verify = group.start({"verify", "--grace", "0", "--max-rate", "2000"});
  cli::Process put = group.start({"put"}, entities(count, 1));  // moves every index row to the other shard
  wait_until("put prints ids", [&] { return !put.out().empty(); });
  group.signal(0, SIGKILL);
  CHECK(put.out().size() < id_lines(count).size());
  group.follow_primary({1, 2});
  check_went_well(put.wait(), id_lines(count));
  const cli::ProcessResult verified = verify.wait();
  CHECK_MESSAGE(verified.status == 0, verified.out, verified.err);
  check_run(group.looseleaf({"get", "-"}, id_lines(count)), 0, entities(count, 1));
  CHECK(group.looseleaf({"query", "by_n", "--ids"}).out == id_lines(count));
  check_status(group.looseleaf({"clean", "--full", "--quiet"}), 0);
  check_status(group.looseleaf({"verify", "--grace", "0", "--quiet"}), 0);
}

// A cleaner reads a body from the primary, which is cut off then. The others elect one on which the old value is put
// back, and the cleaner goes on: it deletes the row of that value. Returns whether the row is there in the end.
bool row_survives(Group& group, const std::string& failpoints) {
  check_status(group.looseleaf({"put", "--quiet"}, entity(0, "\"n\":1")), 0);
  CHECK(group.start({"put", "--quiet"}, entity(0, "\"n\":3"), "put.commit:after=kill").wait().status != 0);
  cli::Process cleaner =
      group.start({"clean", "--quiet"}, {}, "reconcile.change_index_rows:before#1=stop" + failpoints);
  REQUIRE(wait_until_stopped(cleaner));
  group.signal(0, SIGSTOP);
  group.follow_primary({1, 2});
  check_status(group.looseleaf({"put", "--quiet"}, entity(0, "\"n\":1")), 0);
  group.signal(0, SIGCONT);
  cleaner.signal(SIGCONT);
  static_cast<void>(cleaner.wait());
  return group.looseleaf({"query", "by_n", "n=1", "--ids"}).out == id_of(0) + "\n";
}

TEST_CASE("a primary that is cut off in a minority lets nothing be deleted" *
          doctest::skip(!base::failpoints_enabled)) {
  if (!on_mysql()) {
    return;
  }
  Group group;
  check_status(group.looseleaf({"init", "--quiet"}), 0);
  check_status(group.looseleaf({"create-index", group.write("by_n.json", by_n_sharded), "--quiet"}), 0);
  SUBCASE("") {
    CHECK(row_survives(group, ""));
    check_status(group.looseleaf({"verify", "--grace", "0", "--quiet"}), 0);
  }
  SUBCASE("control: without reconcile.prove") {
    CHECK_FALSE(row_survives(group, ",reconcile.prove=skip,reconcile.commit:after=kill"));
  }
}

TEST_CASE("a group whose new primary may answer before it has everything is refused") {
  if (!on_mysql()) {
    return;
  }
  const TestCluster cluster({.shards = 1, .servers = 0, .extra_args = {"--plugin-load-add=group_replication.so"}});
  check_status(cluster.looseleaf({"init", "--quiet"}), 0);
  cluster.server_sql(0, "SET GLOBAL group_replication_consistency = 'EVENTUAL'");
  check_status(cluster.looseleaf({"get", id_of(0)}), 1, {"no such entity"});  // it is in no group
  cluster.server_sql(0, "SET GLOBAL group_replication_group_name = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'");
  check_run(
      cluster.looseleaf({"put"}, entity(0, "\"n\":1")), 3, "",
      {"looseleaf: error: a new primary of the server's group answers before it has what the old one acknowledged\n",
       "hint: set group_replication_consistency to BEFORE_ON_PRIMARY_FAILOVER on every member, with SET PERSIST\n"});
}

}  // namespace
}  // namespace looseleaf::test

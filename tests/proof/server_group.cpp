#include "tests/proof/server_group.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <stdexcept>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

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

}  // namespace

ServerGroup::ServerGroup()
    : recovery_(""),
      servers_({.shards = 4,
                .servers = 0,
                .extra_args = {"--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
                               "--plugin-load-add=group_replication.so", "--group-replication-start-on-boot=OFF",
                               "--report-host=127.0.0.1", fmt::format("--report-port={}", recovery_.port())}}),
      to_primary_(servers_.socket(0)) {
  recovery_.lead_to(servers_.socket(0));
  for (std::uint32_t member = 0; member < members; ++member) {
    ports_.push_back(free_port());
  }
  for (std::uint32_t member = 0; member < members; ++member) {
    join(member);
  }
  for (std::uint32_t member = 0; member < members; ++member) {
    wait_until(
        "all are online", [&] { return online(member) == members; }, std::chrono::seconds(90));
  }
  make_account_and_file(servers_, to_primary_, alone);
}

void ServerGroup::signal(std::uint32_t member, int number) const {
  REQUIRE(::kill(servers_.sandbox().server(member).pid, number) == 0);
}

void ServerGroup::follow_primary(const std::vector<std::uint32_t>& among) {
  const auto is_elected = [&] {
    for (const std::uint32_t member : among) {
      if (servers_.server_sql(member,
                              "SELECT @@super_read_only = 0 AND @@server_uuid = (SELECT member_id FROM "
                              "performance_schema.replication_group_members WHERE member_role = 'PRIMARY' "
                              "AND member_state = 'ONLINE')") == "1\n") {
        primary_ = member;
        to_primary_.lead_to(servers_.socket(member));
        recovery_.lead_to(servers_.socket(member));
        return true;
      }
    }
    return false;
  };
  wait_until("a primary is elected", is_elected, std::chrono::seconds(55));  // the programs are given 60 s
}

void ServerGroup::demote() const {
  servers_.sandbox().kill_server(primary_);
}

void ServerGroup::promote() {
  dead_ = primary_;
  std::vector<std::uint32_t> others;
  for (std::uint32_t member = 0; member < members; ++member) {
    if (member != dead_) {
      others.push_back(member);
    }
  }
  follow_primary(others);
}

void ServerGroup::rejoin() {
  servers_.sandbox().start_server(dead_);
  join(dead_);
  // The others take 15 s to connect to it again.
  wait_until(
      "all are online again", [&] { return online(dead_) == members && online(primary_) == members; },
      std::chrono::seconds(90));
}

void ServerGroup::join(std::uint32_t member) {
  for (int i = 0; i < 4; ++i) {
    try {
      return join_by_its_port(member);
    } catch (const std::runtime_error& error) {
      MESSAGE("member ", member, " joins by another port: ", std::string(error.what()));
      ports_[member] = free_port();
    }
  }
  join_by_its_port(member);
}

// The first server begins the group when there is none.
void ServerGroup::join_by_its_port(std::uint32_t member) const {
  const auto set = [&](const std::string& name, const std::string& value) {
    servers_.server_sql(member, fmt::format("SET GLOBAL group_replication_{} = {}", name, value));
  };
  const bool begins = member == 0 && file_.empty();
  std::vector<std::string> seeds;
  for (const std::uint16_t port : ports_) {
    seeds.push_back(fmt::format("127.0.0.1:{}", port));
  }
  set("group_name", "'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'");
  set("local_address", fmt::format("'{}'", seeds[member]));
  set("group_seeds", fmt::format("'{}'", fmt::join(seeds, ",")));
  set("recovery_use_ssl", "OFF");  // the proxy reads what passes
  set("recovery_get_public_key", "ON");
  set("member_expel_timeout", "0");
  set("bootstrap_group", begins ? "ON" : "OFF");
  servers_.server_sql(member,
                      "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'; "
                      "START GROUP_REPLICATION");
  set("bootstrap_group", "OFF");
}

std::uint32_t ServerGroup::online(std::uint32_t member) const {
  return static_cast<std::uint32_t>(std::stoul(servers_.server_sql(
      member, "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'")));
}

}  // namespace looseleaf::test

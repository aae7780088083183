// A cluster whose servers are reached through relays.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "tests/support/relay.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

// An initialised cluster on the shared servers, with a relay before each.
class RelayedStore {
 public:
  explicit RelayedStore(std::uint32_t shards, std::chrono::microseconds delay = {})
      : near_(TestCluster::shared(shards)) {
    if (near_.looseleaf({"init", "--quiet"}).status != 0) {
      throw std::runtime_error("the cluster could not be initialised");
    }
    std::string list;
    for (std::uint32_t shard = 0; shard < near_.shards(); ++shard) {
      if (near_.server_of(shard) == relays_.size()) {
        relays_.emplace_back(near_.socket(shard), delay, round_trips_);
      }
      const Relay& relay = *std::next(relays_.begin(), near_.server_of(shard));
      list += fmt::format(R"({}"localhost:{}/{}")", shard == 0 ? "" : ", ", relay.port(), near_.database(shard));
    }
    file_ = near_.directory().write(
        "relayed.json",
        fmt::format(R"({{"shards": [{}], "user": "root", "ssl_mode": "disabled", "defaults_file": "{}"}})", list,
                    near_.defaults_file()));
  }

  // Without the relays.
  [[nodiscard]] const TestCluster& near() const { return near_; }
  // The cluster file that leads through the relays.
  [[nodiscard]] const std::string& file() const { return file_; }
  // The round trips, one after the other, that were taken through the relays since this was last asked.
  [[nodiscard]] int take_round_trips() const { return round_trips_->exchange(0); }
  // The most connections that a server had at the same moment.
  [[nodiscard]] std::size_t most_connections() const {
    std::size_t most = 0;
    for (const Relay& relay : relays_) {
      most = std::max(most, relay.most_connections());
    }
    return most;
  }

 private:
  TestCluster near_;
  std::shared_ptr<RoundTrips> round_trips_ = std::make_shared<RoundTrips>(0);
  std::list<Relay> relays_;  // by server
  std::string file_;
};

}  // namespace looseleaf::test

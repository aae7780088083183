// A store behind proxies that can fail, and what is on its servers, seen past them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {

// Definitions of indexes whose rows are on the shard of their value.
inline constexpr const char* by_owner =
    R"({"table": "by_owner", "properties": [{"name": "owner", "type": "int"}], "shard_on": "owner",
        "immutable": true})";
// Only where a test makes it: one row for each of an entity's tags.
inline constexpr const char* by_tag =
    R"({"table": "by_tag", "properties": [{"name": "tags", "type": "int", "each": true}], "shard_on": "tags"})";

[[nodiscard]] std::string entity(const std::string& id, std::int64_t n, std::int64_t owner);

// What is on the servers, seen past the proxies and by SQL of our own. Locking reads wait for who is still writing.
class Truth {
 public:
  explicit Truth(const StoreFixture& fixture) : shards_(fixture.shards()) {}

  [[nodiscard]] std::uint32_t shards() const { return shards_.count(); }

  // The body; absent for a tombstone, and if there is no row.
  [[nodiscard]] std::optional<std::string> body(const std::string& id);
  // The index rows that the committed entity calls for and that are not there; empty if none is missing.
  [[nodiscard]] std::string missing_rows(const std::string& id);
  [[nodiscard]] bool has_row(const std::string& table, const std::string& property, std::int64_t value,
                             const std::string& id);
  sql::Result query(std::uint32_t shard, const std::string& sql);

 private:
  shard::Shards shards_;
};

// A proxy before each of the two servers, and a cluster file that leads through them.
class Route {
 public:
  explicit Route(const TestCluster& cluster, const std::string& name = "route");

  [[nodiscard]] FaultProxy& proxy(std::uint32_t server) const { return *proxies_.at(server); }
  void heal() const;
  // The program with these arguments, on its way through the proxies.
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> arguments) const;

 private:
  std::array<std::unique_ptr<FaultProxy>, 2> proxies_;
  std::string file_;
};

// A store with both indexes, on two servers.
struct NetworkFixture : StoreFixture {
  explicit NetworkFixture(std::uint32_t shards = 4);

  // After everything: no row is missing, and what is too much goes.
  void check_everything();

  std::atomic<std::uint64_t> trials = 0;
};

}  // namespace looseleaf::test

// What is in a cluster's tables, read by plain SQL, and what of it breaks the invariant: a second opinion beside
// verify.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sql/connection.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

// An index row: its value as the server prints it, and the entity's id in hexadecimal.
using ObservedRow = std::pair<std::string, std::string>;

struct ObservedIndex {
  std::string definition, state;

  bool operator==(const ObservedIndex&) const = default;
};

struct ObservedShard {
  std::map<std::string, std::optional<std::string>> entities;  // the body's text by id; absent: a tombstone
  std::map<std::string, ObservedIndex> catalog;                // by table
  std::map<std::string, std::set<ObservedRow>> index_tables;   // those that exist
  std::set<std::string> jobs;                                  // "job table"
  std::vector<std::string> cleanup_records;                    // their ids in hexadecimal
};

using ObservedStore = std::vector<ObservedShard>;

// Direct connections to the shards of a cluster, opened when they are first used.
class Observer {
 public:
  explicit Observer(const TestCluster& cluster) : cluster_(cluster), connections_(cluster.shards()) {}

  [[nodiscard]] ObservedStore observe();
  [[nodiscard]] sql::Connection& connection(std::uint32_t shard);
  // Forgets connections, for a server that was restarted.
  void reconnect();

  // The youngest session there is on each shard's server.
  [[nodiscard]] std::vector<std::uint64_t> youngest_sessions();
  // The sessions of root in the shard's database that are younger.
  [[nodiscard]] std::vector<std::uint64_t> sessions_since(std::uint32_t shard, std::uint64_t youngest);
  // Kills those and waits until they are gone.
  void cut_sessions(std::uint32_t shard, std::uint64_t youngest);
  // Waits until there are none on any shard: nothing that a dead process began can happen any more. Throws
  // std::runtime_error after 20 s.
  void wait_until_quiet(const std::vector<std::uint64_t>& youngest);

 private:
  void wait_until_quiet(std::uint32_t shard, std::uint64_t youngest);

  const TestCluster& cluster_;
  std::vector<std::unique_ptr<sql::Connection>> connections_;
};

// Where an entity's row belongs.
[[nodiscard]] std::uint32_t entity_shard(const std::string& id, std::uint32_t shards);

// The live entities of all shards by id.
[[nodiscard]] std::map<std::string, std::string> bodies(const ObservedStore& store);

// The rows of indexes that are ready on the row's shard which a stored entity calls for and which are not there, as
// "table shard value id". Knows indexes of one property without `where`: integers, sharded on or not, strings that are
// not sharded on, and `each` of them.
[[nodiscard]] std::vector<std::string> missing_rows(const ObservedStore& store);

// The values that several stored entities have in a unique index that is ready on all shards, as "table value: ids".
// Knows the same indexes.
[[nodiscard]] std::vector<std::string> shared_values(const ObservedStore& store);

// True if the catalogs of all shards have the same indexes in the same states.
[[nodiscard]] bool catalogs_agree(const ObservedStore& store);

// Everything in one text: what two stores that were treated alike have in common.
[[nodiscard]] std::string describe(const ObservedStore& store);

}  // namespace looseleaf::test

// A small initialised cluster, its shards as the library sees them, and short ways to write and read it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <looseleaf/datastore.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "shard/shards.hpp"
#include "tests/support/entities.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {
struct StoreFixture {
  explicit StoreFixture(std::uint32_t shards = 2) : StoreFixture(TestCluster::shared(shards)) {}
  explicit StoreFixture(TestCluster&& on) : cluster(std::move(on)), datastore(open()) { datastore.init(); }

  // Another process's view: own connections, own cached catalogs.
  [[nodiscard]] Datastore open(std::chrono::milliseconds timeout = std::chrono::seconds(20)) const {
    return Datastore::open(Cluster::load(cluster.file()), options(timeout));
  }
  [[nodiscard]] shard::Shards shards(std::chrono::milliseconds timeout = std::chrono::seconds(20)) const {
    return {Cluster::load(cluster.file()), options(timeout)};
  }

  void create_index(const std::string& definition) {
    datastore.create_indexes({IndexDefinition::parse(definition, "test")});
  }

  CleanReport clean(const CleanOptions& clean = {}) {
    JobControl control;
    return datastore.clean(clean, control);
  }
  BackfillReport backfill() {
    JobControl control;
    return datastore.backfill({}, control);
  }

  // Puts the first `count` entities; `{}` or `{0}` in `members` is the number.
  void fill(std::uint64_t count, std::string_view members = R"("n":{})") {
    std::vector<std::string> texts;
    for (std::uint64_t number = 0; number < count; ++number) {
      texts.push_back(entity(number, fmt::format(fmt::runtime(members), number)));
    }
    datastore.put(texts);
  }

  struct Page {
    std::vector<std::string> ids;
    std::string next;
  };
  [[nodiscard]] Page page(const Query& query) const {
    Page page;
    const auto add = [&](const Entity& entity) {
      page.ids.push_back(to_string(entity.id));
      return true;
    };
    page.next = datastore.query(query, add).next;
    return page;
  }

  // The ids found by a query whose conditions are in the command line's notation.
  [[nodiscard]] std::vector<std::string> query(const std::string& index,
                                               const std::vector<std::string>& conditions) const {
    Query query;
    query.index = index;
    for (const std::string& condition : conditions) {
      query.conditions.push_back(Condition::parse(condition));
    }
    return page(query).ids;
  }

  // Everything wrong that verify finds, as "kind index values", sorted.
  [[nodiscard]] std::vector<std::string> findings(bool repair = false) {
    VerifyOptions verify;
    verify.repair = repair;
    verify.grace_seconds = 0;
    verify.samples = std::numeric_limits<std::uint64_t>::max();
    JobControl control;
    const VerifyReport report = datastore.verify(verify, control);
    std::vector<std::string> texts;
    for (const Finding& finding : repair ? report.mended : report.findings) {
      texts.push_back(to_string(finding.kind) + " " + finding.index + " " + finding.values);
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  static Options options(std::chrono::milliseconds timeout) {
    Options options;
    options.timeout = timeout;
    return options;
  }

  TestCluster cluster;
  Datastore datastore;
};

// The status of a single put.
inline WriteStatus put_one(Datastore& datastore, const std::string& json) {
  return datastore.put({json}).front().status;
}

}  // namespace looseleaf::test

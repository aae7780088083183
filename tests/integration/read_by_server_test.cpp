// Reads that ask a server once for all its shards: what they give, and what they say if one shard of several fails.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint32_t total_shards = 8;  // on two servers
constexpr std::uint64_t entities = 2000;

// Entities whose values are in another order than their ids, so that each shard has values of all sizes.
std::int64_t value_of(std::uint64_t number) {
  return static_cast<std::int64_t>(number * 7919 % entities);
}

struct ServerOfManyShards : StoreFixture {
  ServerOfManyShards() : StoreFixture(total_shards) {
    create_index(by_n);
    put_all(cluster,
            entity_lines(entities, [](std::uint64_t number) { return fmt::format(R"("n":{})", value_of(number)); }));
  }

  static std::vector<std::string> sorted_ids() {
    std::vector<std::string> ids(entities);
    for (std::uint64_t number = 0; number < entities; ++number) {
      ids[static_cast<std::size_t>(value_of(number))] = id_of(number);
    }
    return ids;
  }

  [[nodiscard]] Page page(std::uint64_t limit, const std::string& after = {}, bool descending = false) const {
    Query query;
    query.index = "by_n";
    query.limit = limit;
    query.after = after;
    query.descending = descending;
    return StoreFixture::page(query);
  }

  [[nodiscard]] std::vector<GetResult> get_all() const {
    std::vector<Uuid> ids;
    for (std::uint64_t number = 0; number < entities; ++number) {
      ids.push_back(uuid_of(number));
    }
    std::vector<GetResult> results;
    datastore.get_each(ids, [&](GetResult result) {
      results.push_back(std::move(result));
      return true;
    });
    return results;
  }

  // The SELECTs that a server has executed since `before`.
  [[nodiscard]] std::uint64_t selects(std::uint32_t server, std::uint64_t before = 0) const {
    return cluster.status(server, "Com_select") - before;
  }

  template <typename Ask>
  [[nodiscard]] std::vector<std::uint64_t> selects_of(const Ask& ask) const {
    std::vector<std::uint64_t> counts;
    for (const std::uint32_t server : {0U, 1U}) {
      const std::uint64_t before = selects(server), asking = selects(server, before);  // MySQL counts that as well
      ask();
      counts.push_back(selects(server, before) - 2 * asking);
    }
    return counts;
  }
};

TEST_CASE_FIXTURE(ServerOfManyShards, "rows of many shards come in the order of the index, in one go and by pages") {
  std::vector<std::string> expected = sorted_ids();
  CHECK(page(0).ids == expected);
  std::vector<std::string> by_pages;
  for (Page part = page(300); !part.ids.empty(); part = page(300, part.next)) {
    by_pages.insert(by_pages.end(), part.ids.begin(), part.ids.end());
    if (part.next.empty()) {
      break;
    }
  }
  CHECK(by_pages == expected);
  std::reverse(expected.begin(), expected.end());
  CHECK(page(0, {}, true).ids == expected);
  expected.resize(10);
  CHECK(page(10, {}, true).ids == expected);
}

TEST_CASE_FIXTURE(ServerOfManyShards, "a query and a get ask a server once for all its shards") {
  const auto newest = [&] { static_cast<void>(page(10, {}, true)); };
  newest();  // now its sessions have checked all shards
  const std::uint64_t rows_and_entities = 2;
  CHECK(selects_of(newest) == std::vector<std::uint64_t>(2, rows_and_entities));
  const auto none = [&] { static_cast<void>(query("by_n", {"n>5000"})); };
  const std::uint64_t rows_and_states = 2;  // because no row tells that the index is ready
  CHECK(selects_of(none) == std::vector<std::uint64_t>(2, rows_and_states));
  const std::vector<Uuid> ids{uuid_of(1), uuid_of(2), uuid_of(3), uuid_of(4), uuid_of(5), uuid_of(6)};
  CHECK(selects_of([&] { CHECK(datastore.get(ids).size() == ids.size()); }) == std::vector<std::uint64_t>(2, 1));
}

TEST_CASE_FIXTURE(ServerOfManyShards, "an index that is not ready on one shard of several is not queried") {
  REQUIRE(page(1).ids.size() == 1);
  cluster.sql(5, "UPDATE looseleaf_index SET state = 'building'");
  const Error error = error_of([&] { return page(10); });
  CHECK(std::string(error.what()) == "index is still building");
  CHECK(context_of(error, "shard") == "5");
}

TEST_CASE_FIXTURE(ServerOfManyShards, "a shard whose tables are gone is named, and hides no other shard's entities") {
  REQUIRE(get_all().size() == entities);  // now the sessions have checked all shards
  REQUIRE(page(1).ids.size() == 1);
  cluster.sql(4, "DROP TABLE entities");
  std::size_t found = 0;
  for (const GetResult& result : get_all()) {
    const bool is_there = std::stoull(to_string(result.id).substr(16), nullptr, 16) % total_shards != 4;
    CHECK(result.entity.has_value() == is_there);
    CHECK((result.error && context_of(*result.error, "shard") == "4") == !is_there);
    found += result.entity ? 1U : 0U;
  }
  CHECK(found == entities * (total_shards - 1) / total_shards);
  cluster.sql(3, "DROP TABLE by_n");
  CHECK(context_of(error_of([&] { return page(10); }), "shard") == "3");
}

}  // namespace
}  // namespace looseleaf::test

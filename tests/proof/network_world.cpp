// Proxies, a cluster file that leads through them, and locking reads past them.
#include "tests/proof/network_world.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/support/observed_store.hpp"

namespace looseleaf::test {

std::string entity(const std::string& id, std::int64_t n, std::int64_t owner) {
  return entity(id, fmt::format(R"("n":{},"owner":{})", n, owner));
}

std::optional<std::string> Truth::body(const std::string& id) {
  const auto rows = query(entity_shard(id, shards()),
                          "SELECT UNCOMPRESS(body) FROM entities WHERE id = x'" + id + "' LOCK IN SHARE MODE");
  return rows.empty() ? std::nullopt : rows.cell(0, 0);
}

std::string Truth::missing_rows(const std::string& id) {
  ObservedStore store(shards());  // as far as this entity is concerned
  store.at(entity_shard(id, shards())).entities.emplace(id, body(id));
  for (std::uint32_t shard = 0; shard < shards(); ++shard) {
    const auto indexes = query(shard, "SELECT table_name, definition FROM looseleaf_index WHERE state = 'ready'");
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      const std::string& table = indexes.text(i, 0);
      store[shard].catalog.emplace(table, ObservedIndex{indexes.text(i, 1), "ready"});
      const auto rows = query(shard, fmt::format("SELECT * FROM {} WHERE entity_id = x'{}'", table, id));
      for (std::size_t row = 0; row < rows.size(); ++row) {
        store[shard].index_tables[table].emplace(rows.text(row, 0), id);
      }
    }
  }
  return fmt::format("{}", fmt::join(looseleaf::test::missing_rows(store), "; "));
}

bool Truth::has_row(const std::string& table, const std::string& property, std::int64_t value, const std::string& id) {
  return !query(static_cast<std::uint32_t>(value) % shards(),
                fmt::format("SELECT 1 FROM {} WHERE {} = {} AND entity_id = x'{}'", table, property, value, id))
              .empty();
}

sql::Result Truth::query(std::uint32_t shard, const std::string& sql) {
  const base::Deadline deadline = shards_.deadline();
  return shard::with_shard(shards_, shard, deadline, [&](const sql::Database& database) {
    database.select();
    return database->query(sql);
  });
}

Route::Route(const TestCluster& cluster, const std::string& name)
    : proxies_{std::make_unique<FaultProxy>(cluster.socket(0)), std::make_unique<FaultProxy>(cluster.socket(1))} {
  std::string shards;
  for (std::uint32_t shard = 0; shard < cluster.shards(); ++shard) {
    shards += fmt::format(R"({}"127.0.0.1:{}/{}")", shards.empty() ? "" : ", ", proxy(cluster.server_of(shard)).port(),
                          cluster.database(shard));
  }
  file_ = cluster.directory().write(
      name + ".json",
      fmt::format(R"({{"shards": [{}], "user": "root", "ssl_mode": "disabled", "defaults_file": "{}"}})", shards,
                  cluster.defaults_file()));
}

void Route::heal() const {
  for (const auto& proxy : proxies_) {
    proxy->heal();
  }
}

std::vector<std::string> Route::command(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"looseleaf", "--cluster", file_});
  return arguments;
}

NetworkFixture::NetworkFixture(std::uint32_t shards) : StoreFixture(shards) {
  create_index(by_n_sharded);
  create_index(by_owner);
}

void NetworkFixture::check_everything() {
  for (const std::string& finding : findings()) {
    CHECK_MESSAGE(!finding.starts_with("missing"), finding);
  }
  JobControl control;
  datastore.clean({.full = true}, control);
  CHECK(findings().empty());
}

}  // namespace looseleaf::test

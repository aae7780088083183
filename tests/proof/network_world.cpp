// Proxies, a cluster file that leads through them, and locking reads past them.
#include "tests/proof/network_world.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace looseleaf::test {
namespace {

std::uint32_t shard_of(const std::string& id) {
  return static_cast<std::uint32_t>(std::stoul(id.substr(id.size() - 1), nullptr, 16) % 2);
}

}  // namespace

std::string entity(const std::string& id, std::int64_t n, std::int64_t owner) {
  return entity(id, fmt::format(R"("n":{},"owner":{})", n, owner));
}

std::optional<std::string> Truth::body(const std::string& id) {
  const auto rows =
      query(shard_of(id), "SELECT UNCOMPRESS(body) FROM entities WHERE id = x'" + id + "' LOCK IN SHARE MODE");
  return rows.empty() ? std::nullopt : rows.cell(0, 0);
}

std::string Truth::missing_rows(const std::string& id) {
  std::string missing;
  const auto text = body(id);
  const auto json = text ? nlohmann::json::parse(*text) : nlohmann::json::object();
  for (const auto& [table, property] : std::map<std::string, std::string>{{"by_n", "n"}, {"by_owner", "owner"}}) {
    if (json.contains(property) && !has_row(table, property, json[property].get<std::int64_t>(), id)) {
      missing += fmt::format("{} of {} has no row in {}; ", property, id, table);
    }
  }
  if (json.contains("tags")) {
    missing += missing_tags(json["tags"].get<std::vector<std::int64_t>>(), id);
  }
  return missing;
}

std::string Truth::missing_tags(const std::vector<std::int64_t>& tags, const std::string& id) {
  std::set<std::string> there;
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    const auto rows =
        query(shard, fmt::format("SELECT tags FROM by_tag WHERE entity_id = x'{}' AND tags % 2 = {}", id, shard));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      there.insert(rows.text(i, 0));
    }
  }
  const auto missing =
      std::count_if(tags.begin(), tags.end(), [&](std::int64_t tag) { return !there.contains(std::to_string(tag)); });
  return missing == 0 ? "" : fmt::format("{} tags of {} have no row in by_tag; ", missing, id);
}

bool Truth::has_row(const std::string& table, const std::string& property, std::int64_t value, const std::string& id) {
  return !query(static_cast<std::uint32_t>(value % 2),
                fmt::format("SELECT 1 FROM {} WHERE {} = {} AND entity_id = x'{}'", table, property, value, id))
              .empty();
}

sql::Result Truth::query(std::uint32_t shard, const std::string& sql) {
  const base::Deadline deadline = shards_.deadline();
  return shard::with_shard(shards_, shard, deadline,
                           [&](sql::Connection& connection) { return connection.query(sql); });
}

Route::Route(const TestCluster& cluster, const std::string& name)
    : proxies_{std::make_unique<FaultProxy>(cluster.socket(0)), std::make_unique<FaultProxy>(cluster.socket(1))} {
  file_ = cluster.directory().write(
      name + ".json",
      fmt::format(R"({{"shards": ["127.0.0.1:{}/{}", "127.0.0.1:{}/{}"], "user": "root", "ssl_mode": "disabled",
                      "defaults_file": "{}"}})",
                  proxy(0).port(), cluster.database(0), proxy(1).port(), cluster.database(1), cluster.defaults_file()));
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

NetworkFixture::NetworkFixture() {
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

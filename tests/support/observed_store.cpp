// Reading the tables, and what the rows should be.
#include "tests/support/observed_store.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "base/hex.hpp"

namespace looseleaf::test {
namespace {

using nlohmann::json;

bool belongs_to_tool(const std::string& table) {
  return table == "entities" || table.starts_with("looseleaf_");
}

// A session that is lost is a nuisance, unless its server is: that shows when the next one is opened.
template <typename Query>
auto with_second_try(Observer& observer, const Query& query) {
  try {
    return query();
  } catch (const sql::ServerError& error) {
    std::string context;
    for (const auto& [key, value] : error.context()) {
      context += fmt::format(", {}: {}", key, value);
    }
    fmt::print(stderr, "observer: {}{}; once more\n", error.what(), context);
    observer.reconnect();
    return query();
  }
}

ObservedShard read_shard(sql::Connection& connection) {
  ObservedShard shard;
  const sql::Result entities = connection.query("SELECT LOWER(HEX(id)), UNCOMPRESS(body) FROM entities");
  for (std::size_t i = 0; i < entities.size(); ++i) {
    shard.entities.emplace(entities.text(i, 0), entities.cell(i, 1));
  }
  const sql::Result tables =
      connection.query("SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::string& table = tables.text(i, 0);
    if (belongs_to_tool(table)) {
      continue;
    }
    std::set<ObservedRow>& rows = shard.index_tables[table];
    const sql::Result found = connection.query("SELECT * FROM `" + table + "`");
    for (std::size_t row = 0; row < found.size(); ++row) {
      rows.emplace(found.text(row, 0), base::to_hex(found.text(row, 1)));
    }
  }
  const sql::Result catalog = connection.query("SELECT table_name, definition, state FROM looseleaf_index");
  for (std::size_t i = 0; i < catalog.size(); ++i) {
    shard.catalog.emplace(catalog.text(i, 0), ObservedIndex{catalog.text(i, 1), catalog.text(i, 2)});
  }
  const sql::Result jobs = connection.query("SELECT job, table_name FROM looseleaf_progress");
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    shard.jobs.insert(jobs.text(i, 0) + " " + jobs.text(i, 1));
  }
  const sql::Result records = connection.query("SELECT LOWER(HEX(ids)) FROM looseleaf_cleanup ORDER BY ids");
  for (std::size_t i = 0; i < records.size(); ++i) {
    shard.cleanup_records.push_back(records.text(i, 0));
  }
  return shard;
}

std::vector<json> values_of(const json& entity, const json& property) {
  const auto found = entity.find(property.at("name").get<std::string>());
  if (found == entity.end()) {
    return {};
  }
  if (property.value("each", false)) {
    return found->get<std::vector<json>>();
  }
  return {*found};
}

struct Place {
  std::string value;
  std::uint32_t shard;
};

std::vector<Place> places(const json& definition, const json& entity, std::uint32_t home, std::uint32_t shards) {
  const json& property = definition.at("properties").at(0);
  const bool integer = property.value("type", "string") == "int";
  std::vector<Place> places;
  for (const json& value : values_of(entity, property)) {
    if (integer && value.is_number_integer()) {
      const auto number = value.get<std::int64_t>();
      const auto count = static_cast<std::int64_t>(shards);
      const bool sharded = definition.contains("shard_on");
      places.push_back(
          {std::to_string(number), sharded ? static_cast<std::uint32_t>((number % count + count) % count) : home});
    } else if (!integer && value.is_string()) {
      places.push_back({value.get<std::string>(), home});
    }
  }
  return places;
}

}  // namespace

sql::Connection& Observer::connection(std::uint32_t shard) {
  auto& connection = connections_.at(shard);
  if (!connection) {
    sql::ConnectOptions options;
    options.address.socket = cluster_.socket(shard);
    options.user = "root";
    options.database = cluster_.database(shard);
    options.tls.mode = SslMode::disabled;
    connection = std::make_unique<sql::Connection>(options);
    connection->execute("SET SESSION wait_timeout = 3600");
  }
  return *connection;
}

void Observer::reconnect() {
  for (auto& connection : connections_) {
    connection.reset();
  }
}

ObservedStore Observer::observe() {
  ObservedStore store;
  for (std::uint32_t shard = 0; shard < cluster_.shards(); ++shard) {
    store.push_back(with_second_try(*this, [&] { return read_shard(connection(shard)); }));
  }
  return store;
}

std::vector<std::uint64_t> Observer::youngest_sessions() {
  std::vector<std::uint64_t> youngest;
  for (std::uint32_t shard = 0; shard < cluster_.shards(); ++shard) {
    std::uint64_t latest = 0;
    const sql::Result list = with_second_try(*this, [&] { return connection(shard).query("SHOW PROCESSLIST"); });
    for (std::size_t i = 0; i < list.size(); ++i) {
      latest = std::max(latest, list.unsigned_integer(i, 0));
    }
    youngest.push_back(latest);
  }
  return youngest;
}

std::vector<std::uint64_t> Observer::sessions_since(std::uint32_t shard, std::uint64_t youngest) {
  constexpr std::size_t id = 0, user = 1, database = 3;
  std::vector<std::uint64_t> sessions;
  const sql::Result list = with_second_try(*this, [&] { return connection(shard).query("SHOW PROCESSLIST"); });
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list.unsigned_integer(i, id) > youngest && list.cell(i, user) == "root" &&
        list.cell(i, database) == cluster_.database(shard)) {
      sessions.push_back(list.unsigned_integer(i, id));
    }
  }
  return sessions;
}

void Observer::cut_sessions(std::uint32_t shard, std::uint64_t youngest) {
  for (const std::uint64_t session : sessions_since(shard, youngest)) {
    try {
      connection(shard).execute(fmt::format("KILL {}", session));
    } catch (const sql::ServerError& error) {
      if (error.number() != 1094) {  // it has ended by itself
        throw;
      }
    }
  }
  wait_until_quiet(shard, youngest);
}

void Observer::wait_until_quiet(const std::vector<std::uint64_t>& youngest) {
  for (std::uint32_t shard = 0; shard < cluster_.shards(); ++shard) {
    wait_until_quiet(shard, youngest.at(shard));
  }
}

void Observer::wait_until_quiet(std::uint32_t shard, std::uint64_t youngest) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!sessions_since(shard, youngest).empty()) {
    if (std::chrono::steady_clock::now() > limit) {
      throw std::runtime_error("sessions of a process that ended stay");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::uint32_t entity_shard(const std::string& id, std::uint32_t shards) {
  std::uint32_t remainder = 0;
  for (const char digit : id) {
    remainder = (remainder * 16 + static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10)) % shards;
  }
  return remainder;
}

std::map<std::string, std::string> bodies(const ObservedStore& store) {
  std::map<std::string, std::string> bodies;
  for (const ObservedShard& shard : store) {
    for (const auto& [id, body] : shard.entities) {
      if (body) {
        bodies.emplace(id, *body);
      }
    }
  }
  return bodies;
}

std::vector<std::string> missing_rows(const ObservedStore& store) {
  const auto shards = static_cast<std::uint32_t>(store.size());
  std::map<std::string, json> definitions;
  for (const ObservedShard& shard : store) {
    for (const auto& [table, index] : shard.catalog) {
      definitions.emplace(table, json::parse(index.definition));
    }
  }
  std::vector<std::string> missing;
  for (const auto& [id, body] : bodies(store)) {
    const json entity = json::parse(body);
    for (const auto& [table, definition] : definitions) {
      for (const Place& place : places(definition, entity, entity_shard(id, shards), shards)) {
        const ObservedShard& there = store.at(place.shard);
        const auto index = there.catalog.find(table);
        const auto rows = there.index_tables.find(table);
        if (index != there.catalog.end() && index->second.state == "ready" &&
            (rows == there.index_tables.end() || !rows->second.contains({place.value, id}))) {
          missing.push_back(fmt::format("{} shard {} value {} of {}", table, place.shard, place.value, id));
        }
      }
    }
  }
  return missing;
}

std::vector<std::string> shared_values(const ObservedStore& store) {
  const auto shards = static_cast<std::uint32_t>(store.size());
  std::map<std::string, json> definitions;
  for (const auto& [table, index] : store.front().catalog) {
    const bool is_ready = std::all_of(store.begin(), store.end(), [&](const ObservedShard& shard) {
      const auto there = shard.catalog.find(table);
      return there != shard.catalog.end() && there->second.state == "ready";
    });
    if (json definition = json::parse(index.definition); is_ready && definition.value("unique", false)) {
      definitions.emplace(table, std::move(definition));
    }
  }
  std::map<std::string, std::set<std::string>> ids;  // by table and value
  for (const auto& [id, body] : bodies(store)) {
    const json entity = json::parse(body);
    for (const auto& [table, definition] : definitions) {
      for (const Place& place : places(definition, entity, entity_shard(id, shards), shards)) {
        ids[table + " " + place.value].insert(id);
      }
    }
  }
  std::vector<std::string> shared;
  for (const auto& [value, of_value] : ids) {
    if (of_value.size() > 1) {
      shared.push_back(fmt::format("{}: {}", value, fmt::join(of_value, ", ")));
    }
  }
  return shared;
}

bool catalogs_agree(const ObservedStore& store) {
  for (const ObservedShard& shard : store) {
    if (shard.catalog != store.front().catalog) {
      return false;
    }
  }
  return true;
}

std::string describe(const ObservedStore& store) {
  std::string text;
  for (std::size_t shard = 0; shard < store.size(); ++shard) {
    for (const auto& [id, body] : store[shard].entities) {
      text += fmt::format("{} entity {} {}\n", shard, id, body.value_or("deleted"));
    }
    for (const auto& [table, index] : store[shard].catalog) {
      text += fmt::format("{} index {} {} {}\n", shard, table, index.state, index.definition);
    }
    for (const auto& [table, rows] : store[shard].index_tables) {
      text += fmt::format("{} table {}\n", shard, table);
      for (const auto& [value, id] : rows) {
        text += fmt::format("{} row {} {} {}\n", shard, table, value, id);
      }
    }
    for (const std::string& job : store[shard].jobs) {
      text += fmt::format("{} job {}\n", shard, job);
    }
    for (const std::string& record : store[shard].cleanup_records) {
      text += fmt::format("{} cleanup record {}\n", shard, record);
    }
  }
  return text;
}

}  // namespace looseleaf::test

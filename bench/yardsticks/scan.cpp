// The yardsticks of what goes over all entities; they print how many seconds that took.
//   read CLUSTER                       reads, inflates and parses all bodies, the shards side by side
//   rows CLUSTER FILE DEFINITION…      inserts the index rows of a file of entities, which are in memory when the clock
//                                      starts: sorted, multi-row INSERTs, one connection to each shard
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <looseleaf/index_definition.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/yardsticks/entity_rows.hpp"
#include "bench/yardsticks/plain.hpp"

namespace looseleaf::bench {
namespace {

constexpr std::uint64_t entities_a_query = 1000;
constexpr std::size_t rows_a_statement = 5000;

void read_shard(const Place& place) {
  Session session(place);
  Codec codec;
  std::uint64_t end = 0;
  {
    const auto rows = session.query("SELECT COALESCE(MAX(added_id) + 1, 0) FROM entities");
    rows->next();
    end = rows->getUInt64(1);
  }
  for (std::uint64_t from = 0; from < end; from += entities_a_query) {
    const auto rows = session.query("SELECT id, body FROM entities WHERE added_id >= " + std::to_string(from) +
                                    " AND added_id < " + std::to_string(from + entities_a_query));
    while (rows->next()) {
      const ::sql::SQLString body = rows->getString(2);
      if (!nlohmann::json::parse(codec.decode({body.c_str(), body.length()})).is_object()) {
        throw std::runtime_error("a body is no object");
      }
    }
  }
}

// The rows of one index on one shard, as literals.
struct Rows {
  std::size_t index = 0, shard = 0;
  std::vector<std::string> literals;
};

std::vector<Rows> rows_of(const std::string& path, const std::vector<IndexDefinition>& indexes, std::size_t shards) {
  std::vector<Rows> result;
  for (std::size_t i = 0; i < indexes.size() * shards; ++i) {
    result.push_back({i / shards, i % shards, {}});
  }
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json entity = nlohmann::json::parse(line);
    const EntityRows places(entity, shards);
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      places.each(indexes[i], [&](std::size_t shard, std::string row) {
        result[i * shards + shard].literals.push_back(std::move(row));
      });
    }
  }
  return result;
}

void insert(Session& session, const std::string& table, std::vector<std::string>& rows) {
  std::sort(rows.begin(), rows.end());
  for (std::size_t from = 0; from < rows.size(); from += rows_a_statement) {
    std::string sql = "INSERT INTO " + table + " VALUES ";
    for (std::size_t i = from; i < std::min(rows.size(), from + rows_a_statement); ++i) {
      sql += (i == from ? "" : ",") + rows[i];
    }
    session.execute(sql);
  }
}

void insert_rows(const std::vector<Place>& places, const std::vector<IndexDefinition>& indexes,
                 std::vector<Rows>& rows) {
  std::vector<std::size_t> shards(places.size());
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    shards[shard] = shard;
  }
  on_threads(shards, [&](std::size_t shard) {
    Session session(places[shard]);
    for (Rows& some : rows) {
      if (some.shard == shard) {
        insert(session, indexes[some.index].table, some.literals);
      }
    }
  });
}

void run(const std::vector<std::string>& arguments) {
  using Clock = std::chrono::steady_clock;
  const std::string mode = arguments.at(0);
  std::vector<Place> places = read_places(arguments.at(1));
  Clock::time_point start;
  if (mode == "read") {
    start = Clock::now();
    on_threads(places, [](const Place& place) { read_shard(place); });
  } else if (mode == "rows") {
    const std::vector<IndexDefinition> indexes = load_definitions({arguments.begin() + 3, arguments.end()});
    std::vector<Rows> rows = rows_of(arguments.at(2), indexes, places.size());
    start = Clock::now();
    insert_rows(places, indexes, rows);
  } else {
    throw std::runtime_error("no such scan: " + mode);
  }
  std::cout << std::chrono::duration<double>(Clock::now() - start).count() << '\n';
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  try {
    looseleaf::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "yardstick_scan: " << error.what() << '\n';
    return 1;
  }
}

// The yardsticks of put: plain loaders of a file of entities, one a line. No protocol: nothing is read back, nothing is
// locked, each statement is a transaction of its own, and the tables may end up disagreeing.
//   raw CLUSTER FILE [DEFINITION…]     two threads; parse, deflate, multi-row INSERTs into entities and index tables
//   sql CLUSTER FILE PREFIX [DEFINITION…]     writes the statements of raw to PREFIX0.sql… instead, one file a shard
//   update CLUSTER FILE [DEFINITION…]  the same entities with other values: two threads; read the old bodies, overwrite
//                                      them, insert the new index rows and delete the old ones, a thousand at a time
//   native CLUSTER FILE CONNECTIONS    multi-row INSERTs into shard 0's table `native`, which has a JSON column
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <looseleaf/index_definition.hpp>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/yardsticks/entity_rows.hpp"
#include "bench/yardsticks/plain.hpp"

namespace looseleaf::bench {
namespace {

constexpr std::size_t rows_a_statement = 1000;

// The input's lines, a thousand at a time, for any thread.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path) {
    if (!file_) {
      throw std::runtime_error("cannot read " + path);
    }
  }

  bool next(std::vector<std::string>& lines) {
    const std::lock_guard lock(mutex_);
    lines.clear();
    std::string line;
    while (lines.size() < rows_a_statement && std::getline(file_, line)) {
      lines.push_back(std::move(line));
    }
    return !lines.empty();
  }

 private:
  std::mutex mutex_;
  std::ifstream file_;
};

// One multi-row INSERT that grows.
struct Insert {
  std::string head, sql;
  std::size_t rows = 0;

  std::string& row() {
    sql += rows++ == 0 ? head : ",";
    return sql;
  }
};

using Send = std::function<void(std::size_t shard, const std::string& sql)>;

// Parses, deflates, and sends what is to be inserted.
class RawLoader {
 public:
  RawLoader(std::size_t shards, const std::vector<IndexDefinition>& indexes, Send send)
      : indexes_(indexes), send_(std::move(send)), entities_(shards), rows_(indexes.size()) {
    for (Insert& insert : entities_) {
      insert.head = "INSERT INTO entities (id, updated, body) VALUES ";
    }
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      rows_[i].assign(shards, {"INSERT INTO " + indexes[i].table + " VALUES ", {}, 0});
    }
  }

  void load(const std::string& line) {
    const nlohmann::json entity = nlohmann::json::parse(line);
    const EntityRows rows(entity, entities_.size());
    Insert& insert = entities_[rows.shard()];
    std::string& sql = insert.row();
    sql += "(x'" + rows.id() + "',NOW(6),";
    append_bytes(sql, codec_.encode(line));
    sql += ')';
    flush_if(insert, rows.shard(), rows_a_statement);
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
      rows.each(indexes_[i], [&](std::size_t shard, const std::string& row) {
        Insert& place = rows_[i][shard];
        place.row() += row;
        flush_if(place, shard, rows_a_statement);
      });
    }
  }

  void finish() {
    for (std::size_t shard = 0; shard < entities_.size(); ++shard) {
      flush_if(entities_[shard], shard, 1);
      for (auto& inserts : rows_) {
        flush_if(inserts[shard], shard, 1);
      }
    }
  }

 private:
  void flush_if(Insert& insert, std::size_t shard, std::size_t rows) {
    if (insert.rows >= rows) {
      send_(shard, insert.sql);
      insert.sql.clear();
      insert.rows = 0;
    }
  }

  const std::vector<IndexDefinition>& indexes_;
  const Send send_;
  Codec codec_;
  std::vector<Insert> entities_;           // by shard
  std::vector<std::vector<Insert>> rows_;  // by index, then by shard
};

std::vector<Session> connect_all(const std::vector<Place>& places) {
  std::vector<Session> sessions;
  for (const Place& place : places) {
    sessions.emplace_back(place);
  }
  return sessions;
}

void load_raw(Lines& lines, std::size_t shards, const std::vector<IndexDefinition>& indexes, const Send& send) {
  RawLoader loader(shards, indexes, send);
  std::vector<std::string> some;
  while (lines.next(some)) {
    for (const std::string& line : some) {
      loader.load(line);
    }
  }
  loader.finish();
}

void raw(const std::vector<Place>& places, Lines& lines, const std::vector<IndexDefinition>& indexes) {
  std::vector<std::vector<Session>> sessions;
  sessions.push_back(connect_all(places));
  sessions.push_back(connect_all(places));
  on_threads(sessions, [&](std::vector<Session>& mine) {
    load_raw(lines, places.size(), indexes,
             [&](std::size_t shard, const std::string& sql) { mine[shard].execute(sql); });
  });
}

// Overwrites entities whose index rows all change.
class Updater {
 public:
  Updater(const std::vector<Place>& places, const std::vector<IndexDefinition>& indexes)
      : sessions_(connect_all(places)), indexes_(indexes) {
    for (Session& session : sessions_) {
      session.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }
  }

  void update(const std::vector<std::string>& lines) {
    std::vector<Insert> entities(sessions_.size(), Insert{"INSERT INTO entities (id, updated, body) VALUES ", {}, 0});
    std::vector<Insert> ids(sessions_.size(), Insert{"SELECT body FROM entities WHERE id IN (", {}, 0});
    std::vector<std::vector<Insert>> inserts = rows_of_indexes(false), deletes = rows_of_indexes(true);
    for (const std::string& line : lines) {
      const nlohmann::json entity = nlohmann::json::parse(line);
      const EntityRows rows(entity, sessions_.size());
      ids[rows.shard()].row() += "x'" + rows.id() + "'";
      std::string& sql = entities[rows.shard()].row();
      sql += "(x'" + rows.id() + "',NOW(6),";
      append_bytes(sql, codec_.encode(line));
      sql += ')';
      add_rows(rows, inserts);
    }
    for (std::size_t shard = 0; shard < sessions_.size(); ++shard) {
      if (ids[shard].rows > 0) {
        read_old(shard, ids[shard].sql + ")", deletes);
        sessions_[shard].execute(entities[shard].sql +
                                 " ON DUPLICATE KEY UPDATE updated = VALUES(updated), body = VALUES(body)");
      }
    }
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
      for (std::size_t shard = 0; shard < sessions_.size(); ++shard) {
        if (inserts[i][shard].rows > 0) {
          sessions_[shard].execute(inserts[i][shard].sql);
        }
        if (deletes[i][shard].rows > 0) {
          sessions_[shard].execute(deletes[i][shard].sql + ")");
        }
      }
    }
  }

 private:
  [[nodiscard]] std::vector<std::vector<Insert>> rows_of_indexes(bool to_delete) const {
    std::vector<std::vector<Insert>> rows;
    for (const IndexDefinition& index : indexes_) {
      std::string columns;
      for (const Property& property : index.properties) {
        columns += property.name + ", ";
      }
      // Without FORCE INDEX, MariaDB makes a temporary table of the list of rows.
      const std::string head =
          to_delete ? "DELETE r FROM " + index.table + " r FORCE INDEX (PRIMARY) WHERE (" + columns + "entity_id) IN ("
                    : "INSERT INTO " + index.table + " VALUES ";
      rows.emplace_back(sessions_.size(), Insert{head, {}, 0});
    }
    return rows;
  }

  void add_rows(const EntityRows& rows, std::vector<std::vector<Insert>>& to) const {
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
      rows.each(indexes_[i], [&](std::size_t shard, const std::string& row) { to[i][shard].row() += row; });
    }
  }

  void read_old(std::size_t shard, const std::string& select, std::vector<std::vector<Insert>>& deletes) {
    const auto found = sessions_[shard].query(select);
    while (found->next()) {
      const std::string body = found->getString(1);
      const nlohmann::json old = nlohmann::json::parse(codec_.decode(body));
      add_rows(EntityRows(old, sessions_.size()), deletes);
    }
  }

  std::vector<Session> sessions_;
  const std::vector<IndexDefinition>& indexes_;
  Codec codec_;
};

void update(const std::vector<Place>& places, Lines& lines, const std::vector<IndexDefinition>& indexes) {
  std::vector<int> threads = {1, 2};
  on_threads(threads, [&](int) {
    Updater updater(places, indexes);
    std::vector<std::string> some;
    while (lines.next(some)) {
      updater.update(some);
    }
  });
}

void write_sql(const std::vector<Place>& places, Lines& lines, const std::string& prefix,
               const std::vector<IndexDefinition>& indexes) {
  std::vector<std::ofstream> files;
  for (std::size_t shard = 0; shard < places.size(); ++shard) {
    files.emplace_back(prefix + std::to_string(shard) + ".sql");
  }
  load_raw(lines, places.size(), indexes,
           [&](std::size_t shard, const std::string& sql) { files[shard] << sql << ";\n"; });
  for (std::ofstream& file : files) {
    if (!file.flush()) {
      throw std::runtime_error("cannot write " + prefix);
    }
  }
}

// The id is found without parsing: it is the first member.
std::string_view id_of(std::string_view line) {
  constexpr std::string_view head = R"({"id":)";
  constexpr std::size_t digits = 32;
  if (!line.starts_with(head)) {
    throw std::runtime_error("an entity does not begin with its id");
  }
  return line.substr(line.find('"', head.size()) + 1, digits);
}

void native(const std::vector<Place>& places, Lines& lines, std::size_t connections) {
  std::vector<Session> sessions = connect_all(std::vector<Place>(connections, places.at(0)));
  on_threads(sessions, [&](Session& session) {
    std::vector<std::string> some;
    while (lines.next(some)) {
      Insert insert{"INSERT INTO native (id, body) VALUES ", {}, 0};
      for (const std::string& line : some) {
        std::string& sql = insert.row();
        sql.append("(x'").append(id_of(line)).append("',");
        append_text(sql, line);
        sql += ')';
      }
      session.execute(insert.sql);
    }
  });
}

void run(std::vector<std::string> arguments) {
  const std::string mode = arguments.at(0);
  const std::vector<Place> places = read_places(arguments.at(1));
  Lines lines(arguments.at(2));
  arguments.erase(arguments.begin(), arguments.begin() + 3);
  if (mode == "raw") {
    raw(places, lines, load_definitions(arguments));
  } else if (mode == "update") {
    update(places, lines, load_definitions(arguments));
  } else if (mode == "sql") {
    const std::string prefix = arguments.at(0);
    arguments.erase(arguments.begin());
    write_sql(places, lines, prefix, load_definitions(arguments));
  } else if (mode == "native") {
    native(places, lines, std::stoul(arguments.at(0)));
  } else {
    throw std::runtime_error("no such loader: " + mode);
  }
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  try {
    looseleaf::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "yardstick_load: " << error.what() << '\n';
    return 1;
  }
}

// A statement for each step.
#include "bench/yardsticks/hand_written.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "bench/yardsticks/entity_rows.hpp"

namespace looseleaf::bench {
namespace {

std::string hex_of(const ::sql::SQLString& bytes) {
  std::string literal;
  append_bytes(literal, {bytes.c_str(), bytes.length()});
  return literal;
}

}  // namespace

HandWritten::HandWritten(const std::string& cluster_file, std::vector<IndexDefinition> indexes)
    : indexes_(std::move(indexes)) {
  for (const Place& place : read_places(cluster_file)) {
    Session& session = sessions_.emplace_back(place);
    selects_.emplace_back(session.connection().prepareStatement("SELECT body FROM entities WHERE id = UNHEX(?)"));
  }
}

HandWritten::~HandWritten() = default;

void HandWritten::put(const std::string& json) {
  const nlohmann::json entity = nlohmann::json::parse(json);
  const EntityRows rows(entity, sessions_.size());
  for (const IndexDefinition& index : indexes_) {
    rows.each(index, [&](std::size_t shard, const std::string& row) {
      sessions_[shard].execute("INSERT INTO " + index.table + " VALUES " + row);
    });
  }
  Session& home = sessions_[rows.shard()];
  std::string sql = "INSERT INTO entities (id, updated, body) VALUES (x'" + rows.id() + "',NOW(6),";
  append_bytes(sql, codec_.encode(json));
  home.execute("START TRANSACTION");
  home.execute(sql + ")");
  home.execute("COMMIT");
}

void HandWritten::update(const std::string& json) {
  const nlohmann::json entity = nlohmann::json::parse(json);
  const EntityRows rows(entity, sessions_.size());
  Session& home = sessions_[rows.shard()];
  home.execute("START TRANSACTION");
  const auto found = home.query("SELECT body FROM entities WHERE id = x'" + rows.id() + "' FOR UPDATE");
  if (!found->next()) {
    throw std::runtime_error("an entity is not there");
  }
  const std::string body = found->getString(1);
  const nlohmann::json old = nlohmann::json::parse(codec_.decode(body));
  for (const IndexDefinition& index : indexes_) {
    rows.each(index, [&](std::size_t shard, const std::string& row) {
      sessions_[shard].execute("INSERT INTO " + index.table + " VALUES " + row);
    });
  }
  std::string sql = "UPDATE entities SET updated = NOW(6), body = ";
  append_bytes(sql, codec_.encode(json));
  home.execute(sql + " WHERE id = x'" + rows.id() + "'");
  home.execute("COMMIT");
  const EntityRows old_rows(old, sessions_.size());
  for (const IndexDefinition& index : indexes_) {
    std::string columns;
    for (const Property& property : index.properties) {
      columns += property.name + ", ";
    }
    old_rows.each(index, [&](std::size_t shard, const std::string& row) {
      sessions_[shard].execute("DELETE FROM " + index.table + " WHERE (" + columns + "entity_id) IN (" + row + ")");
    });
  }
}

void HandWritten::get(const std::string& id, const OnText& on_text) {
  ::sql::PreparedStatement& select = *selects_[shard_of_uuid(id, sessions_.size())];
  select.setString(1, id);
  const std::unique_ptr<::sql::ResultSet> rows(select.executeQuery());
  if (!rows->next()) {
    throw std::runtime_error("an entity is not there");
  }
  const ::sql::SQLString body = rows->getString(1);
  on_text(codec_.decode({body.c_str(), body.length()}));
}

void HandWritten::query(const IndexDefinition& index, const std::string& shard_value, const std::string& conditions,
                        const OnText& on_text) {
  const Property& property = index.properties.at(index.shard_on.value());
  const std::size_t index_shard = shard_of_value(property, shard_value, sessions_.size());
  const auto rows = sessions_[index_shard].query("SELECT entity_id FROM " + index.table + " " + conditions);
  std::map<std::size_t, std::string> ids;  // by shard
  while (rows->next()) {
    const std::string literal = hex_of(rows->getString(1));
    std::string& list = ids[shard_of_uuid(literal.substr(2, 32), sessions_.size())];
    list += (list.empty() ? "" : ",") + literal;
  }
  for (const auto& [shard, list] : ids) {
    const auto bodies = sessions_[shard].query("SELECT body FROM entities WHERE id IN (" + list + ")");
    while (bodies->next()) {
      const ::sql::SQLString body = bodies->getString(1);
      on_text(codec_.decode({body.c_str(), body.length()}));
    }
  }
}

std::string id_literal(const std::string& id) {
  return "x'" + id + "'";
}

std::string text_literal(const std::string& text) {
  std::string literal;
  append_text(literal, text);
  return literal;
}

}  // namespace looseleaf::bench

// The state of an index on all shards, for create-index and drop-index.
#include "index/index_tables.hpp"

#include <fmt/format.h>

#include "sql/literals.hpp"

namespace looseleaf::index {

std::optional<std::uint64_t> KnownIndex::generation() const {
  if (const auto in_catalog = shard::IndexEverywhere::generation()) {
    return in_catalog;
  }
  if (drop_intent) {
    return drop_intent->generation;
  }
  return create_intent ? std::optional(create_intent->generation) : std::nullopt;
}

KnownIndex look_up_with_intents(shard::Shards& shards, const std::string& table, const base::Deadline& deadline) {
  KnownIndex known;
  shard::with_shard(shards, 0, deadline, [&](sql::Connection& connection) {
    known.create_intent = job::read_job(connection, "create", table);
    known.drop_intent = job::read_job(connection, "drop", table);
  });
  known.on_shard = shard::look_up_index(shards, table, deadline).on_shard;
  return known;
}

std::optional<std::string> comment_of_table(sql::Connection& connection, const std::string& table) {
  const sql::Result found = connection.query(
      fmt::format("SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() "
                  "AND table_name = {}",
                  sql::text_literal(table)));
  return found.empty() ? std::nullopt : std::optional(found.text(0, 0));
}

}  // namespace looseleaf::index

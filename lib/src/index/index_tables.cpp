// The state of an index on all shards, for create-index and drop-index.
#include "index/index_tables.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "sql/literals.hpp"

namespace looseleaf::index {
namespace {

std::string query_for_comment(const sql::Database& database, const std::string& table) {
  return fmt::format("SELECT table_comment FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
                     sql::text_literal(database.name()), sql::text_literal(table));
}

}  // namespace

std::optional<std::uint64_t> KnownIndex::generation_or_intent() const {
  if (in_any_catalog()) {
    return generation();
  }
  if (drop_intent) {
    return drop_intent->generation;
  }
  return create_intent ? std::optional(create_intent->generation) : std::nullopt;
}

KnownIndex look_up_with_intents(shard::Shards& shards, const std::string& table, const base::Deadline& deadline) {
  KnownIndex known;
  std::tie(known.create_intent,
           known.drop_intent) = shard::read_shard(shards, 0, deadline, [&](const sql::Database& database) {
    return std::pair(job::read_job(database, job::create_job, table), job::read_job(database, job::drop_job, table));
  });
  known.on_shard = shard::look_up_index(shards, table, deadline).on_shard;
  return known;
}

void drop_index_table(const sql::Database& database, const std::string& table) {
  database->execute("DROP TABLE " + sql::quote_identifier(table));
  database->pretend(query_for_comment(database, table), [] { return sql::Result({}, 1); });
}

std::optional<std::string> comment_of_table(const sql::Database& database, const std::string& table) {
  const sql::Result found = database->query(query_for_comment(database, table));
  return found.empty() ? std::nullopt : std::optional(found.text(0, 0));
}

}  // namespace looseleaf::index

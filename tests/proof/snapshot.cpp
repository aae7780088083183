// Copies by plain SQL; what differs in more than its rows is dropped and created anew.
#include "tests/proof/snapshot.hpp"

#include <fmt/format.h>

namespace looseleaf::test {
namespace {

// An index table's comment names its generation, so tables of equal comments have equal columns.
std::map<std::string, std::string> tables(sql::Connection& connection, const std::string& database) {
  const sql::Result found = connection.query(fmt::format(
      "SELECT table_name, table_comment FROM information_schema.tables WHERE table_schema = '{}'", database));
  std::map<std::string, std::string> tables;
  for (std::size_t i = 0; i < found.size(); ++i) {
    tables.emplace(found.text(i, 0), found.text(i, 1));
  }
  return tables;
}

std::string kept_database(const std::string& database) {
  return database + "_kept";
}

}  // namespace

Snapshot::Snapshot(const TestCluster& cluster, Observer& observer) : cluster_(cluster), observer_(observer) {
  for (std::uint32_t shard = 0; shard < cluster_.shards(); ++shard) {
    sql::Connection& connection = observer_.connection(shard);
    const std::string kept = kept_database(cluster_.database(shard));
    connection.execute("DROP DATABASE IF EXISTS " + kept);
    connection.execute("CREATE DATABASE " + kept);
    for (const auto& [table, comment] : tables(connection, cluster_.database(shard))) {
      connection.execute(fmt::format("CREATE TABLE {}.`{}` LIKE `{}`", kept, table, table));
      connection.execute(fmt::format("INSERT INTO {}.`{}` SELECT * FROM `{}`", kept, table, table));
    }
  }
}

void Snapshot::restore() {
  for (std::uint32_t shard = 0; shard < cluster_.shards(); ++shard) {
    restore_shard(shard);
  }
}

void Snapshot::restore_shard(std::uint32_t shard) {
  sql::Connection& connection = observer_.connection(shard);
  const std::string kept = kept_database(cluster_.database(shard));
  const auto wanted = tables(connection, kept);
  auto there = tables(connection, cluster_.database(shard));
  std::erase_if(there, [&](const auto& table_and_comment) {
    const auto as_it_was = wanted.find(table_and_comment.first);
    const bool differs = as_it_was == wanted.end() || as_it_was->second != table_and_comment.second;
    if (differs) {
      connection.execute(fmt::format("DROP TABLE `{}`", table_and_comment.first));
    }
    return differs;
  });
  for (const auto& [table, comment] : wanted) {
    if (!there.contains(table)) {
      connection.execute(fmt::format("CREATE TABLE `{}` LIKE {}.`{}`", table, kept, table));
    }
  }
  connection.execute("START TRANSACTION");
  for (const auto& [table, comment] : wanted) {
    connection.execute(fmt::format("DELETE FROM `{}`", table));
    connection.execute(fmt::format("INSERT INTO `{}` SELECT * FROM {}.`{}`", table, kept, table));
  }
  connection.commit();
}

}  // namespace looseleaf::test

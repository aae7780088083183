// Creates the databases and the tool's tables on every shard.
#include "cluster/init.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "job/jobs.hpp"
#include "shard/access.hpp"
#include "shard/catalog.hpp"
#include "shard/fence.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/schema.hpp"
#include "shard/statements.hpp"
#include "shard/table_check.hpp"
#include "sql/literals.hpp"
#include "sql/retry.hpp"

namespace looseleaf::cluster {
namespace {

// The content of a shard before anything is created.
struct Found {
  std::optional<Uuid> cluster_id;  // absent if the shard is not initialised
  std::uint64_t shard_count = 0;   // meaningful with cluster_id, as is the next
  std::uint64_t format = 0;
  bool has_entities = false;
  std::set<std::string> tables;  // of an initialised shard
};

// A table with other columns counts as well: it is somebody else's.
bool has_entities(sql::Connection& connection, const std::string& schema) {
  constexpr int er_bad_field = 1054;
  try {
    return !connection.query("SELECT added_id, id, updated, writer, body FROM " + schema + ".entities LIMIT 1").empty();
  } catch (const sql::ServerError& error) {
    if (error.number() != er_bad_field) {
      throw;
    }
    return true;
  }
}

Found inspect(sql::Connection& connection, const std::string& database) {
  Found found;
  const auto tables =
      connection.query(fmt::format("SELECT table_name FROM information_schema.tables WHERE table_schema = {} "
                                   "AND table_name IN ('looseleaf_shard', 'entities')",
                                   sql::text_literal(database)));
  const std::string schema = sql::quote_identifier(database);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    // MariaDB compares the names in the statement without case.
    if (tables.text(i, 0) == "entities") {
      found.has_entities = has_entities(connection, schema);
    } else if (tables.text(i, 0) == "looseleaf_shard") {
      const auto row = connection.query("SELECT cluster_id, shard_count, format FROM " + schema +
                                        ".looseleaf_shard WHERE only_row = 1");
      if (!row.empty()) {
        found.cluster_id = shard::require_uuid(row.text(0, 0));
        found.shard_count = row.unsigned_integer(0, 1);
        found.format = row.unsigned_integer(0, 2);
      }
    }
  }
  if (found.cluster_id) {  // the row was inserted after all tables were created
    const auto all = connection.query("SHOW TABLES FROM " + schema);
    for (std::size_t i = 0; i < all.size(); ++i) {
      found.tables.insert(all.text(i, 0));
    }
  }
  return found;
}

// Returns the cluster's id: from the cluster file, or else from the initialised shards; absent if there are none.
std::optional<Uuid> agree_on_id(shard::Shards& shards, const std::vector<Found>& found,
                                const std::set<std::uint32_t>& accept_empty) {
  std::optional<Uuid> id = shards.cluster().cluster_id;
  bool any_entities = false;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    any_entities = any_entities || found[shard].has_entities;
    if (found[shard].cluster_id && id && *found[shard].cluster_id != *id) {
      Error error(ErrorCode::wrong_cluster, "shard belongs to another cluster", shards.where(shard),
                  "check the addresses in the cluster file; nothing was changed");
      throw error.with("expected", to_string(*id)).with("found", to_string(*found[shard].cluster_id));
    }
    if (found[shard].cluster_id && found[shard].shard_count != shards.count()) {
      shard::on_shard(shards, shard, [&] { throw shard::other_shard_count(found[shard].shard_count, shards.count()); });
    }
    id = found[shard].cluster_id ? found[shard].cluster_id : id;
  }
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    if (found[shard].cluster_id) {
      continue;
    }
    if (found[shard].has_entities) {
      throw Error(ErrorCode::wrong_cluster, "database has a table `entities` that looseleaf did not create",
                  shards.where(shard), "choose another database for this shard");
    }
    if (any_entities && !accept_empty.contains(shard)) {
      throw Error(ErrorCode::wrong_cluster, "shard is empty, but other shards hold entities", shards.where(shard),
                  fmt::format("check that this is the right server; if the shard was lost and there is a backup, load "
                              "that instead of `init`; if there is none, run `looseleaf init --accept-empty-shard {}`",
                              shard));
    }
  }
  return id;
}

// Creates the tables on one shard. Returns the shard's cluster id, which is not `id` if another init came first.
Uuid create_on(shard::Shards& shards, std::uint32_t shard, const Uuid& id, const base::Deadline& deadline) {
  {
    const auto server = shards.sessions().connect_unchecked(shard, deadline, false);
    server->execute("CREATE DATABASE IF NOT EXISTS " + sql::quote_identifier(shards.cluster().shards[shard].database) +
                    " CHARACTER SET utf8mb4");
  }
  const auto connection = shards.sessions().connect_unchecked(shard, deadline, true);
  for (const std::string& table : shard::tool_tables()) {
    connection->execute(table);
  }
  connection->execute(fmt::format(
      "INSERT INTO looseleaf_shard (only_row, cluster_id, shard, shard_count, format, epoch, clock_floor, "
      "access, access_token, access_reason, access_holder, access_since) "
      "VALUES (1, {}, {}, {}, {}, {}, NOW(6), 'open', 0, '', '', NOW(6)) ON DUPLICATE KEY UPDATE only_row = only_row",
      shard::id_literal(id), shard, shards.count(), shard::format_version, base::random_u64()));
  return shard::require_uuid(connection->query("SELECT cluster_id FROM looseleaf_shard WHERE only_row = 1").text(0, 0));
}

std::vector<std::uint32_t> initialised_among(const std::vector<Found>& found) {
  std::vector<std::uint32_t> initialised;
  for (std::uint32_t shard = 0; shard < found.size(); ++shard) {
    if (found[shard].cluster_id) {
      initialised.push_back(shard);
    }
  }
  return initialised;
}

// A shard that is created is open. So none is created while the others are frozen, or have moved.
void require_open(shard::Shards& shards, const std::vector<Found>& found) {
  const std::vector<std::uint32_t> initialised = initialised_among(found);
  if (initialised.size() < shards.count()) {
    shard::require_write_access(shards, initialised, shards.deadline());
  }
}

// Sets all ready indexes of these shards to `building`, because an empty shard has none of its index rows. They become
// ready once the new shard has them and a backfill has run.
void unready_indexes(shard::Shards& shards, const std::vector<std::uint32_t>& on) {
  for (const std::uint32_t shard : on) {
    shard::with_fence_exclusive(
        shards, shard, shards.deadline(), [&](const sql::Database& database, const shard::Fence& fence) {
          shard::require_write_access(shards, shard, database, fence);
          for (const shard::CatalogIndex& index : shard::load_catalog(database).indexes) {
            const std::string& table = index.definition.table;
            if (index.state == IndexState::ready || index.state == IndexState::building) {
              static_cast<void>(
                  shard::set_index_state(database, table, index.generation, {IndexState::ready}, IndexState::building));
              job::remove_job(database, job::backfill_job, table, index.generation);
            }
          }
        });
  }
}

// A table that is gone cannot be created again here: what it held is lost.
void require_all_tables(shard::Shards& shards, std::uint32_t shard, const std::set<std::string>& tables) {
  for (const std::string& create : shard::tool_tables()) {
    if (const std::string table = shard::table_of(create); !tables.contains(table)) {
      throw Error(ErrorCode::corrupt, "a table of the store does not exist", shards.where(shard),
                  "restore it from a backup, then run `looseleaf verify`")
          .with("table", table);
    }
  }
}

// Returns the indexes that are on some shards only: those that an empty shard lacks, and those of which a creation was
// interrupted. A drop that was interrupted is none of init's business.
std::vector<std::string> incomplete_indexes(shard::Shards& shards) {
  const std::vector<shard::Catalog> catalogs = shard::read_catalogs(shards, shards.deadline());
  std::vector<std::string> incomplete;
  for (const std::string& table : shard::all_indexes(catalogs)) {
    const shard::IndexEverywhere everywhere = shard::find_index(catalogs, table);
    const bool lacks_one = std::any_of(everywhere.on_shard.begin(), everywhere.on_shard.end(),
                                       [](const auto& index) { return !index.has_value(); });
    if (lacks_one && !everywhere.is_being_dropped()) {
      incomplete.push_back(table);
    }
  }
  return incomplete;
}

}  // namespace

InitReport init(shard::Shards& shards, const std::set<std::uint32_t>& accept_empty) {
  for (const std::uint32_t shard : accept_empty) {
    shards.require_shard(shard);
  }
  std::vector<Found> found;  // each step on a shard has the whole timeout, because a large cluster needs longer
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    const base::Deadline deadline = shards.deadline();
    found.push_back(sql::with_retries(deadline, [&] {
      const auto connection = shards.sessions().connect_unchecked(shard, deadline, false);
      return shard::on_shard(shards, shard,
                             [&] { return inspect(**connection, shards.cluster().shards[shard].database); });
    }));
  }
  const std::optional<Uuid> known = agree_on_id(shards, found, accept_empty);
  InitReport report;
  report.cluster_id = known.value_or(Uuid::make_v7());
  require_open(shards, found);
  for (const std::uint32_t shard : initialised_among(found)) {
    if (found[shard].format == shard::format_version) {
      require_all_tables(shards, shard, found[shard].tables);
    }
  }
  if (const auto initialised = initialised_among(found); initialised.size() < shards.count()) {
    unready_indexes(shards, initialised);
  }
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    const base::Deadline deadline = shards.deadline();
    report.created += found[shard].cluster_id ? 0 : 1;
    if (!found[shard].cluster_id) {
      // Shard 0 decides the id, so that two concurrent first inits agree.
      report.cluster_id = sql::with_retries(deadline, [&] {
        return shard::on_shard(shards, shard, [&] { return create_on(shards, shard, report.cluster_id, deadline); });
      });
    }
    static_cast<void>(shards.connect(shard, deadline));  // checks the identity
  }
  report.unready = incomplete_indexes(shards);
  for (const std::uint32_t shard : accept_empty) {
    if (found[shard].cluster_id && found[shard].has_entities) {
      shards.warnings().give({"shard is not empty, so nothing was accepted", shards.where(shard), "check the number"});
    }
  }
  return report;
}

}  // namespace looseleaf::cluster

// Cleanup records: the superfluous rows that puts have not deleted yet.
#include "shard/cleanup_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "shard/statements.hpp"
#include "shard/steps.hpp"
#include "shard/writable.hpp"
#include "sql/errors.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::string_view records = "looseleaf_cleanup";
constexpr std::size_t id_size = 16;

}  // namespace

void insert_cleanup_record(const sql::Database& database, std::uint32_t shard, std::uint64_t token,
                           std::span<const Uuid> ids) {
  std::string bytes;
  for (const Uuid& id : ids) {
    bytes += bytes_of(id);
  }
  const Step step(steps::put_write_cleanup, shard);
  if (!step.left_out()) {
    database->execute(fmt::format("INSERT INTO {} (token, since, ids) VALUES ({}, NOW(6), {})", database.table(records),
                                  token, sql::bytes_literal(bytes)));
  }
}

void touch_cleanup_record(const sql::Database& database, std::uint64_t token) {
  const std::uint64_t touched =
      database->execute(fmt::format("UPDATE {} SET since = since + INTERVAL 1 MICROSECOND WHERE token = {} AND {}",
                                    database.table(records), token, database->facts().is_writable));
  if (touched == 0) {
    throw sql::ServerError(sql::ErrorClass::conflict, 0, ErrorCode::unavailable,
                           "another process has handled the cleanup record", {}, "retry");
  }
}

void delete_cleanup_records(const sql::Database& database, std::uint32_t shard, std::span<const std::uint64_t> tokens) {
  const Step step(steps::cleanup_delete, shard);
  if (!step.left_out()) {
    database->execute(fmt::format("DELETE FROM {} WHERE {}", database.table(records), where_token(tokens)));
  }
}

std::map<std::uint32_t, std::vector<CleanupRecord>> list_cleanup_records(Lease& lease,
                                                                         std::span<const std::uint32_t> shards,
                                                                         std::size_t limit) {
  std::string select;
  for (const std::uint32_t shard : shards) {
    select += fmt::format(
        "(SELECT {}, token, GREATEST(TIMESTAMPDIFF(MICROSECOND, since, NOW(6)), 0), NULL FROM {} ORDER BY token LIMIT "
        "{}) UNION ALL ",
        shard, lease.on(shard).table(records), limit);
  }
  // The server evaluates the last branch after the others.
  const sql::Result rows = lease->query(select + "(SELECT NULL, NULL, NULL, @@global.read_only)");
  require_writable(*lease, rows.text(rows.size() - 1, 3));
  std::map<std::uint32_t, std::vector<CleanupRecord>> found;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    found[static_cast<std::uint32_t>(rows.unsigned_integer(i, 0))].push_back(
        {rows.unsigned_integer(i, 1), std::chrono::microseconds(rows.integer(i, 2))});
  }
  for (auto& [shard, of_shard] : found) {
    std::sort(of_shard.begin(), of_shard.end(),
              [](const CleanupRecord& a, const CleanupRecord& b) { return a.token < b.token; });
  }
  return found;
}

std::map<std::uint64_t, std::vector<Uuid>> read_cleanup_ids(const sql::Database& database,
                                                            std::span<const std::uint64_t> tokens) {
  const sql::Result rows =
      database->query(fmt::format("SELECT token, ids FROM {} WHERE {}", database.table(records), where_token(tokens)));
  std::map<std::uint64_t, std::vector<Uuid>> by_token;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<Uuid>& ids = by_token[rows.unsigned_integer(i, 0)];
    for (std::string_view bytes = rows.text(i, 1); !bytes.empty();
         bytes.remove_prefix(std::min(id_size, bytes.size()))) {
      ids.push_back(require_uuid(bytes.substr(0, id_size)));
    }
  }
  return by_token;
}

}  // namespace looseleaf::shard

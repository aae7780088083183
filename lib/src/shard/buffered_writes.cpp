// The tables looseleaf_buffer and looseleaf_receipt.
#include "shard/buffered_writes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <string_view>

#include "base/random.hpp"
#include "shard/statements.hpp"
#include "shard/writable.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::string_view buffer = "looseleaf_buffer";
constexpr std::string_view receipt = "looseleaf_receipt";
// In statements that lock rows. Where a list names most of a table, a server would read, and lock, all of it, and wait
// for rows of others.
constexpr std::string_view by_token = "FORCE INDEX (PRIMARY)";

std::string behind_place(const BufferPlace& place) {
  return fmt::format("(accepted > {0} OR (accepted = {0} AND token > {1}))", sql::stamp_literal(place.accepted),
                     place.token);
}

// Appends the columns that both tables have: token, accepted, id, first_copy, second_copy.
void append_write(std::string& out, const BufferedWrite& write) {
  fmt::format_to(std::back_inserter(out), "{}, {}, ", write.place.token, sql::stamp_literal(write.place.accepted));
  append_id_literal(out, write.id);
  fmt::format_to(std::back_inserter(out), ", {}, ", write.copies.first);
  out += write.copies.second ? std::to_string(*write.copies.second) : "NULL";
}

CopyPlaces to_copies(const sql::Result& rows, std::size_t row, std::size_t column) {
  CopyPlaces copies{static_cast<std::uint32_t>(rows.unsigned_integer(row, column)), std::nullopt};
  if (rows.cell(row, column + 1)) {
    copies.second = static_cast<std::uint32_t>(rows.unsigned_integer(row, column + 1));
  }
  return copies;
}

BufferPlace to_place(const sql::Result& rows, std::size_t row) {
  return {base::parse_stamp(rows.text(row, 1)), rows.unsigned_integer(row, 0)};
}

std::vector<std::uint64_t> to_tokens(const sql::Result& rows) {
  std::vector<std::uint64_t> tokens;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    tokens.push_back(rows.unsigned_integer(i, 0));
  }
  return tokens;
}

}  // namespace

void insert_copies(const sql::Database& database, std::span<const BufferedWrite> writes) {
  const std::string insert = fmt::format("INSERT INTO {} (token, accepted, id, first_copy, second_copy, body) VALUES ",
                                         database.table(buffer));
  MultiRow statement(database, insert, "");
  for (const BufferedWrite& write : writes) {
    statement.add([&](std::string& out) {
      append_write(out, write);
      out += ", ";
      sql::append_bytes_literal(out, write.body);
    });
  }
  statement.finish();
}

std::vector<BufferedWrite> list_copies(const sql::Database& database, const BufferPlace& behind, std::size_t limit) {
  const sql::Result rows =
      database->query(fmt::format("SELECT token, accepted, id, first_copy, second_copy, LENGTH(body) FROM {} WHERE {} "
                                  "ORDER BY accepted, token LIMIT {}",
                                  database.table(buffer), behind_place(behind), limit));
  std::vector<BufferedWrite> writes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    writes.push_back({.place = to_place(rows, i),
                      .id = require_uuid(rows.text(i, 2)),
                      .copies = to_copies(rows, i, 3),
                      .body = {},
                      .body_size = rows.unsigned_integer(i, 5)});
  }
  return writes;
}

std::map<std::uint64_t, std::string> read_copies(const sql::Database& database, std::span<const std::uint64_t> tokens) {
  sql::Result rows =
      database->query(fmt::format("SELECT token, body FROM {} WHERE {}", database.table(buffer), where_token(tokens)));
  std::map<std::uint64_t, std::string> bodies;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bodies.emplace(rows.unsigned_integer(i, 0), rows.take(i, 1));
  }
  return bodies;
}

std::vector<std::uint64_t> missing_copies(const sql::Database& database, std::span<const std::uint64_t> tokens) {
  const sql::Result rows = database->query(
      fmt::format("SELECT token FROM {} WHERE {} ORDER BY token", database.table(buffer), where_token(tokens)));
  require_still_writable(database);
  const std::vector<std::uint64_t> found = to_tokens(rows);
  std::vector<std::uint64_t> missing;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(missing),
               [&](std::uint64_t token) { return !std::binary_search(found.begin(), found.end(), token); });
  return missing;
}

std::uint64_t delete_copies(const sql::Database& database, std::span<const std::uint64_t> tokens) {
  return database->execute(
      fmt::format("DELETE t FROM {} AS t {} WHERE {}", database.table(buffer), by_token, where_token(tokens)));
}

std::vector<std::uint64_t> lock_receipts(const sql::Database& database, std::span<const std::uint64_t> tokens) {
  return to_tokens(database->query(fmt::format("SELECT token FROM {} {} WHERE {} ORDER BY token FOR UPDATE",
                                               database.table(receipt), by_token, where_token(tokens))));
}

void insert_receipts(const sql::Database& database, std::span<const BufferedWrite* const> writes) {
  const std::string insert =
      fmt::format("INSERT INTO {} (token, accepted, id, first_copy, second_copy) VALUES ", database.table(receipt));
  MultiRow statement(database, insert, "");
  for (const BufferedWrite* write : writes) {
    statement.add([&](std::string& out) { append_write(out, *write); });
  }
  statement.finish();
}

bool insert_refusal(const sql::Database& database, const BufferedWrite& write,
                    const std::optional<std::string>& reason) {
  std::string values;
  append_write(values, write);
  const std::uint64_t inserted = database->execute(
      fmt::format("INSERT INTO {} (token, accepted, id, first_copy, second_copy, reason, body) VALUES ({}, {}, {}) "
                  "ON DUPLICATE KEY UPDATE token = token",
                  database.table(receipt), values, reason ? sql::text_literal(*reason) : "NULL",
                  reason ? sql::bytes_literal(write.body) : "NULL"));
  return inserted > 0;
}

std::vector<Receipt> list_receipts(const sql::Database& database, std::uint64_t above, std::size_t limit) {
  const sql::Result rows = database->query(
      fmt::format("SELECT token, first_copy, second_copy FROM {} WHERE first_copy IS NOT NULL AND token > {} "
                  "ORDER BY token LIMIT {}",
                  database.table(receipt), above, limit));
  std::vector<Receipt> receipts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    receipts.push_back({rows.unsigned_integer(i, 0), to_copies(rows, i, 1)});
  }
  return receipts;
}

void settle_receipts(const sql::Database& database, std::span<const std::uint64_t> tokens) {
  const std::string table = database.table(receipt), where = where_token(tokens);
  // In this order, because the UPDATE locks all of them: nobody drops a refusal in between.
  database->execute(
      fmt::format("UPDATE {} {} SET first_copy = NULL, second_copy = NULL WHERE {}", table, by_token, where));
  database->execute(fmt::format("DELETE t FROM {} AS t {} WHERE {} AND reason IS NULL", table, by_token, where));
}

std::vector<Refusal> list_refusals(const sql::Database& database, const BufferPlace& behind, std::size_t limit) {
  const sql::Result rows =
      database->query(fmt::format("SELECT token, accepted, id, reason FROM {} WHERE reason IS NOT NULL AND {} "
                                  "ORDER BY accepted, token LIMIT {}",
                                  database.table(receipt), behind_place(behind), limit));
  std::vector<Refusal> refusals;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    refusals.push_back({to_place(rows, i), require_uuid(rows.text(i, 2)), rows.text(i, 3)});
  }
  return refusals;
}

std::optional<std::string> read_refused_body(const sql::Database& database, std::uint64_t token) {
  sql::Result rows = database->query(
      fmt::format("SELECT body FROM {} WHERE token = {} AND body IS NOT NULL", database.table(receipt), token));
  return rows.empty() ? std::nullopt : std::optional(rows.take(0, 0));
}

std::uint64_t drop_refusals(const sql::Database& database, std::span<const std::uint64_t> tokens) {
  const std::string table = database.table(receipt), where = where_token(tokens);
  // Where copies are left, which must not be stored, the receipts stay until these are deleted. The UPDATE locks them,
  // so that nobody settles them in between.
  const std::uint64_t dropped = database->execute(fmt::format(
      "UPDATE {} {} SET reason = NULL, body = NULL WHERE {} AND reason IS NOT NULL", table, by_token, where));
  database->execute(fmt::format("DELETE t FROM {} AS t {} WHERE {} AND reason IS NULL AND first_copy IS NULL", table,
                                by_token, where));
  return dropped;
}

std::uint64_t buffer_refusals(const sql::Database& database, std::uint32_t shard,
                              std::span<const std::uint64_t> tokens) {
  for (const std::uint64_t token : tokens) {
    database->execute(fmt::format(
        "INSERT INTO {} (token, accepted, id, first_copy, second_copy, body) "
        "SELECT {}, accepted, id, {}, NULL, body FROM {} WHERE token = {} AND reason IS NOT NULL FOR UPDATE",
        database.table(buffer), base::random_token(), shard, database.table(receipt), token));
  }
  return drop_refusals(database, tokens);
}

BufferCountsByShard count_buffered(Lease& lease, std::span<const std::uint32_t> shards) {
  std::string select;
  for (const std::uint32_t shard : shards) {
    const sql::Database database = lease.on(shard);
    select += fmt::format(
        "SELECT {}, b.copies, r.receipts, r.refusals, b.age FROM "
        "(SELECT COUNT(*) AS copies, GREATEST(TIMESTAMPDIFF(MICROSECOND, MIN(accepted), NOW(6)), 0) AS age FROM {}) b, "
        "(SELECT COALESCE(SUM(first_copy IS NOT NULL), 0) AS receipts, COALESCE(SUM(reason IS NOT NULL), 0) AS "
        "refusals "
        "FROM {}) r UNION ALL ",
        shard, database.table(buffer), database.table(receipt));
  }
  const sql::Result rows = lease->query(select + "SELECT NULL, NULL, NULL, NULL, @@global.read_only");
  require_writable(*lease, rows.text(rows.size() - 1, 4));
  BufferCountsByShard counts;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const BufferCounts found{rows.unsigned_integer(i, 1), rows.unsigned_integer(i, 2), rows.unsigned_integer(i, 3),
                             std::chrono::microseconds(rows.cell(i, 4) ? rows.integer(i, 4) : 0)};
    if (found.copies > 0 || found.receipts > 0 || found.refusals > 0) {
      counts.emplace(static_cast<std::uint32_t>(rows.unsigned_integer(i, 0)), found);
    }
  }
  return counts;
}

BufferCountsByShard count_buffered(Shards& shards, std::map<std::uint32_t, Error>& failures) {
  BufferCountsByShard counts;
  std::mutex mutex;  // guards both
  for_groups(shards, all_shards(shards), [&](std::span<const std::uint32_t> group) {
    try {
      auto found = with_group(shards, group, shards.deadline(), Purpose::general,
                              [&](Lease& lease) { return count_buffered(lease, group); });
      const std::lock_guard lock(mutex);
      counts.merge(found);
    } catch (const Error& error) {
      if (group.size() > 1 && may_be_one_shards(error)) {
        throw;  // each shard is asked alone
      }
      const std::lock_guard lock(mutex);
      for (const std::uint32_t shard : group) {
        failures.emplace(shard, error);
      }
    }
  });
  return counts;
}

}  // namespace looseleaf::shard

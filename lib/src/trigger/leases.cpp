// The server's clock alone decides how old a row is.
#include "trigger/leases.hpp"

#include <fmt/format.h>

#include <charconv>

#include "job/jobs.hpp"
#include "sql/literals.hpp"
#include "trigger/trigger_row.hpp"

namespace looseleaf::trigger {
namespace {

// Of a row, by the server's clock, which may be behind the one that wrote it: leases are replicated.
constexpr int seconds_to_live = 8;

std::string rows_in(const sql::Database& first) {
  return fmt::format("{} WHERE job = '{}'", first.table("looseleaf_progress"), lease_job);
}

std::string to_hex(std::uint64_t token) {
  return fmt::format("{:016x}", token);
}

std::uint64_t from_hex(const std::string& text) {
  std::uint64_t token = 0;
  std::from_chars(text.data(), text.data() + text.size(), token, 16);
  return token;
}

}  // namespace

void renew_lease(const sql::Database& first, const std::string& trigger, std::uint64_t token) {
  first->execute(
      fmt::format("INSERT INTO {} (job, table_name, generation, detail, token, holder, since, heartbeat) "
                  "VALUES ('{}', '{}', 0, {}, {}, {}, NOW(6), NOW(6)) ON DUPLICATE KEY UPDATE heartbeat = NOW(6)",
                  first.table("looseleaf_progress"), lease_job, to_hex(token), sql::text_literal(trigger), token,
                  sql::text_literal(job::this_process())));
}

void remove_lease(const sql::Database& first, std::uint64_t token) {
  first->execute(fmt::format("DELETE FROM {} AND table_name = '{}'", rows_in(first), to_hex(token)));
}

void remove_leases(const sql::Database& first, const std::string& trigger) {
  first->execute(fmt::format("DELETE FROM {} AND detail = {}", rows_in(first), sql::text_literal(trigger)));
}

void remove_old_leases(const sql::Database& first) {
  first->execute(fmt::format("DELETE FROM {} AND heartbeat < NOW(6) - INTERVAL 1 HOUR", rows_in(first)));
}

Processes live_processes(const sql::Database& first, const std::string& trigger) {
  const sql::Result rows = first->query(fmt::format(
      "SELECT table_name, holder FROM {0} AND detail = {1} AND heartbeat BETWEEN NOW(6) - INTERVAL {2} SECOND "
      "AND NOW(6) + INTERVAL {2} SECOND",
      rows_in(first), sql::text_literal(trigger), seconds_to_live));
  Processes processes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    processes.emplace(from_hex(rows.text(i, 0)), rows.text(i, 1));
  }
  return processes;
}

}  // namespace looseleaf::trigger

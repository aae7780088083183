// Building blocks for the SQL of entity rows and index rows.
#include "shard/statements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/hex.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::size_t max_statement = 1 << 19;

}  // namespace

std::string_view bytes_of(const Uuid& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

std::string where_in(const std::string& column, const IdRange& range) {
  std::string where;
  if (range.from) {
    where = fmt::format(" WHERE {} >= {}", column, id_literal(*range.from));
  }
  if (range.until) {
    where += fmt::format("{}{} < {}", where.empty() ? " WHERE " : " AND ", column, id_literal(*range.until));
  }
  return where;
}

std::string id_literal(const Uuid& id) {
  return sql::bytes_literal(bytes_of(id));
}

void append_id_literal(std::string& out, const Uuid& id) {
  sql::append_bytes_literal(out, bytes_of(id));
}

std::string id_list(std::span<const Uuid> ids) {
  std::string list;
  for (const Uuid& id : ids) {
    list += list.empty() ? "" : ", ";
    append_id_literal(list, id);
  }
  return list;
}

std::string where_token(std::span<const std::uint64_t> tokens) {
  return fmt::format("token IN ({})", fmt::join(tokens, ", "));
}

Uuid require_uuid(std::string_view bytes) {
  const auto id = Uuid::from_bytes(bytes);
  if (!id) {
    throw Error(ErrorCode::corrupt, "a stored id does not have 16 bytes", {{"bytes", base::to_hex(bytes)}});
  }
  return *id;
}

std::optional<Uuid> nth_id(const sql::Database& database, std::string_view table, const std::string& id,
                           const IdRange& range, std::size_t skip) {
  const auto first = [&](const std::string& where, std::size_t offset) {
    const sql::Result found =
        database->query(fmt::format("SELECT {0} FROM {1} FORCE INDEX ({0}){2} ORDER BY {0} LIMIT {3}, 1", id,
                                    database.table(table), where, offset));
    return found.empty() ? std::nullopt : std::optional(require_uuid(found.text(0, 0)));
  };
  const auto found = first(where_in(id, range), skip);
  if (!found || found != range.from) {
    return found;
  }
  return first(fmt::format("{} AND {} > {}", where_in(id, range), id, id_literal(*range.from)), 0);
}

std::optional<Uuid> greatest_id(const sql::Database& database, std::string_view table, const std::string& id) {
  const sql::Result found = database->query(fmt::format("SELECT MAX({}) FROM {}", id, database.table(table)));
  return found.cell(0, 0) ? std::optional(require_uuid(found.text(0, 0))) : std::nullopt;
}

std::uint64_t estimate_rows(const sql::Database& database, const std::string& table) {
  const sql::Result found =
      database->query("SELECT COALESCE(table_rows, 0) FROM information_schema.tables WHERE table_schema = " +
                      sql::text_literal(database.name()) + " AND table_name = " + sql::text_literal(table));
  return found.empty() ? 0 : found.unsigned_integer(0, 0);
}

MultiRow::MultiRow(const sql::Database& database, std::string_view prefix, std::string_view suffix)
    : database_(database),
      prefix_(prefix),
      suffix_(suffix),
      max_bytes_(std::min<std::size_t>(max_statement, database->facts().max_allowed_packet / 2)) {}

void MultiRow::send_all_but_last(std::size_t size) {
  constexpr std::size_t separator = 2;
  const std::string last = sql_.substr(size + separator);
  sql_.resize(size);
  send();
  sql_ += prefix_;
  sql_ += last;
  rows_ = 1;
}

std::uint64_t MultiRow::finish() {
  if (rows_ > 0) {
    send();
  }
  return affected_;
}

void MultiRow::send() {
  sql_ += suffix_;
  affected_ += database_->execute(sql_);
  sql_.clear();
  rows_ = 0;
}

}  // namespace looseleaf::shard

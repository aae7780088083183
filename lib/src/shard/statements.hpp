// Building blocks for the SQL of entity rows and index rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sql/database.hpp"

namespace looseleaf::shard {

// The ids from `from` up to, but not including, `until`. An absent bound means that the range has no bound on that
// side.
struct IdRange {
  std::optional<Uuid> from, until;
};
// Returns " WHERE id >= x'..' AND id < x'..'" for that column; empty for a range without bounds.
[[nodiscard]] std::string where_in(const std::string& column, const IdRange& range);

// The most ids in one IN list.
inline constexpr std::size_t max_ids = 999;

// Calls `work` with at most `size` of the ids at a time, in order.
template <typename Work>
void in_lists(std::span<const Uuid> ids, const Work& work, std::size_t size = max_ids) {
  for (; !ids.empty(); ids = ids.subspan(std::min(size, ids.size()))) {
    work(ids.first(std::min(size, ids.size())));
  }
}

[[nodiscard]] std::string_view bytes_of(const Uuid& id);
[[nodiscard]] std::string id_literal(const Uuid& id);
void append_id_literal(std::string& out, const Uuid& id);
[[nodiscard]] std::string id_list(std::span<const Uuid> ids);                  // "x'..', x'..'"
[[nodiscard]] std::string where_token(std::span<const std::uint64_t> tokens);  // "token IN (1, 2)"
// `bytes` must be exactly 16 bytes; throws Error(corrupt) otherwise.
[[nodiscard]] Uuid require_uuid(std::string_view bytes);

// Returns the first id in the range that is greater than the range's first id and that has at least `skip` rows of the
// range before it. The order is that of the table's key on the column `id`; the key has the same name. The result is
// absent if the range has no such id.
[[nodiscard]] std::optional<Uuid> nth_id(const sql::Database& database, std::string_view table, const std::string& id,
                                         const IdRange& range, std::size_t skip);

// Returns the greatest id in a table, by its column of ids; absent if the table is empty.
[[nodiscard]] std::optional<Uuid> greatest_id(const sql::Database& database, std::string_view table,
                                              const std::string& id);

// Returns the server's estimate of the number of rows in a table; 0 if there is no such table.
[[nodiscard]] std::uint64_t estimate_rows(const sql::Database& database, const std::string& table);

// Sends rows in statements of bounded length: at most 5,000 rows and about 512 KiB. A statement never exceeds the
// server's max_allowed_packet unless a single row does.
class MultiRow {
 public:
  MultiRow(const sql::Database& database, std::string_view prefix, std::string_view suffix);
  // `append` appends one row's values, separated by commas, to a string.
  template <typename Append>
  void add(const Append& append) {
    if (rows_ == max_rows) {
      send();
    }
    const std::size_t before = sql_.size();
    sql_ += rows_ == 0 ? prefix_ : std::string_view(", ");
    sql_ += '(';
    append(sql_);
    sql_ += ')';
    ++rows_;
    if (rows_ > 1 && sql_.size() + suffix_.size() > max_bytes_) {
      send_all_but_last(before);
    }
  }
  // Sends the remaining rows. Returns the number of rows that all statements affected.
  std::uint64_t finish();

 private:
  static constexpr std::size_t max_rows = 5000;

  void send();
  void send_all_but_last(std::size_t size);  // `size` is the statement's size without the last row

  const sql::Database& database_;
  std::string_view prefix_, suffix_;
  std::size_t max_bytes_;
  std::string sql_;
  std::size_t rows_ = 0;
  std::uint64_t affected_ = 0;
};

}  // namespace looseleaf::shard

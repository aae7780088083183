// Pieces that the SQL of entity rows and of index rows share.
#include "store/statements.hpp"

#include <algorithm>

#include "base/hex.hpp"
#include "sql/literals.hpp"

namespace looseleaf::store {
namespace {

constexpr std::size_t max_rows = 1000;
constexpr std::size_t max_statement = 1 << 20;

std::string_view bytes_of(const Uuid& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

}  // namespace

std::string id_literal(const Uuid& id) {
  return sql::bytes_literal(bytes_of(id));
}

std::string id_list(std::span<const Uuid> ids) {
  std::string list;
  for (const Uuid& id : ids) {
    list += list.empty() ? "" : ", ";
    list += id_literal(id);
  }
  return list;
}

Uuid require_uuid(std::string_view bytes) {
  const auto id = Uuid::from_bytes(bytes);
  if (!id) {
    throw Error(ErrorCode::corrupt, "a stored id has not 16 bytes", {{"bytes", base::to_hex(bytes)}});
  }
  return *id;
}

MultiRow::MultiRow(sql::Connection& connection, std::string_view prefix, std::string_view suffix)
    : connection_(connection),
      prefix_(prefix),
      suffix_(suffix),
      max_bytes_(std::min<std::size_t>(max_statement, connection.max_allowed_packet() / 2)) {}

void MultiRow::add(std::string_view row) {
  if (rows_ == max_rows || (rows_ > 0 && sql_.size() + row.size() + suffix_.size() > max_bytes_)) {
    send();
  }
  sql_ += rows_ == 0 ? prefix_ : std::string_view(", ");
  sql_ += row;
  ++rows_;
}

std::uint64_t MultiRow::finish() {
  if (rows_ > 0) {
    send();
  }
  return affected_;
}

void MultiRow::send() {
  sql_ += suffix_;
  affected_ += connection_.execute(sql_);
  sql_.clear();
  rows_ = 0;
}

}  // namespace looseleaf::store

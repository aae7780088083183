// Builds the two forms of a statement.
#include "sql/statement.hpp"

#include "base/hex.hpp"
#include "sql/literals.hpp"

namespace looseleaf::sql {

Statement& Statement::add(std::string_view sql) {
  text_ += sql;
  shape_ += sql;
  return *this;
}

Statement& Statement::add(const Statement& other) {
  text_ += other.text_;
  shape_ += other.shape_;
  values_.insert(values_.end(), other.values_.begin(), other.values_.end());
  return *this;
}

Statement& Statement::add_bytes(std::string_view bytes) {
  append_bytes_literal(text_, bytes);
  shape_ += "UNHEX(?)";  // bytes bound as a character string could fail the server's check for valid characters
  values_.emplace_back(base::to_hex(bytes));
  return *this;
}

Statement& Statement::add_text(std::string_view utf8) {
  text_ += text_literal(utf8);
  shape_ += '?';
  values_.emplace_back(std::string(utf8));
  return *this;
}

Statement& Statement::add_integer(std::int64_t value) {
  text_ += integer_literal(value);
  shape_ += '?';
  values_.emplace_back(value);
  return *this;
}

Statement& Statement::add_double(double value) {
  text_ += double_literal(value);
  shape_ += '?';
  values_.emplace_back(value == 0 ? 0.0 : value);
  return *this;
}

}  // namespace looseleaf::sql

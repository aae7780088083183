// A statement whose values are kept apart from its text, so that a session can prepare it if it is repeated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace looseleaf::sql {

// A statement is built piece by piece. Statements that differ only in their values have the same shape.
class Statement {
 public:
  using Value = std::variant<std::string, std::int64_t, double>;

  explicit Statement(std::string_view sql) : text_(sql), shape_(sql) {}

  Statement& add(std::string_view sql);
  Statement& add(const Statement& other);
  Statement& add_bytes(std::string_view bytes);
  Statement& add_text(std::string_view utf8);
  Statement& add_integer(std::int64_t value);
  Statement& add_double(double value);

  // Returns the statement with its values as literals.
  [[nodiscard]] const std::string& text() const { return text_; }
  // Returns the statement with a placeholder for each of values(). Texts are bound as they are, bytes as hexadecimal
  // digits.
  [[nodiscard]] const std::string& shape() const { return shape_; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

 private:
  std::string text_, shape_;
  std::vector<Value> values_;
};

}  // namespace looseleaf::sql

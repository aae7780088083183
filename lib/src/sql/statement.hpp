// A statement with its values apart from its text, for a session to prepare if it comes again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace looseleaf::sql {

// Built piece by piece. Statements that differ in their values only have the same shape.
class Statement {
 public:
  using Value = std::variant<std::string, std::int64_t, double>;

  explicit Statement(std::string_view sql) : text_(sql), shape_(sql) {}

  Statement& add(std::string_view sql);
  Statement& add_bytes(std::string_view bytes);
  Statement& add_text(std::string_view utf8);
  Statement& add_integer(std::int64_t value);
  Statement& add_double(double value);

  // With the values as literals.
  [[nodiscard]] const std::string& text() const { return text_; }
  // With a placeholder for each of values(): text is bound as it is, bytes as their hexadecimal digits.
  [[nodiscard]] const std::string& shape() const { return shape_; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

 private:
  std::string text_, shape_;
  std::vector<Value> values_;
};

}  // namespace looseleaf::sql

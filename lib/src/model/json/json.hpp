// A JSON value that needs no memory to be destroyed.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

namespace looseleaf::model {

// For parsed values. The destructor of nlohmann::json moves members into a vector, and ends the process if there is no
// memory for it. So this class first takes the value apart, from the leaves on.
class Json : public nlohmann::json {
 public:
  Json() = default;
  explicit Json(nlohmann::json&& value) noexcept : nlohmann::json(std::move(value)) {}
  Json(const Json&) = default;
  Json(Json&&) noexcept = default;
  Json& operator=(const Json&) = default;
  Json& operator=(Json&&) noexcept = default;
  ~Json() { take_apart(*this, 0); }

 private:
  // A value that is nested more deeply than any stored entity is left to nlohmann.
  static void take_apart(nlohmann::json& value, std::size_t depth) noexcept {
    constexpr std::size_t deepest = 1000;
    if (!value.is_structured() || depth == deepest) {
      return;
    }
    for (nlohmann::json& child : value) {
      take_apart(child, depth + 1);
    }
    value.clear();
  }
};

}  // namespace looseleaf::model

// Without this, nlohmann would convert the value like a string.
template <>
struct nlohmann::adl_serializer<looseleaf::model::Json> {
  static void to_json(nlohmann::json& to, const looseleaf::model::Json& from) {
    to = static_cast<const nlohmann::json&>(from);
  }
};

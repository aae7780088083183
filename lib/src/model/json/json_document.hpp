// Reads configuration files in JSON. Every error names the file, the line, the column and the key.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "model/json/strict_json.hpp"

namespace looseleaf::model {

// A parsed file. All its errors have the code given here.
class JsonDocument {
 public:
  // Throws if the text is not one JSON object. `file` is for messages.
  JsonDocument(ErrorCode code, std::string_view text, std::string file);

  [[nodiscard]] const nlohmann::json& root() const { return root_; }

  // Throws an error about the value or the key at a JSON pointer.
  [[noreturn]] void fail_at_value(const std::string& pointer, const std::string& what, const std::string& hint) const;
  [[noreturn]] void fail_at_key(const std::string& pointer, const std::string& what, const std::string& hint) const;

 private:
  [[noreturn]] void fail(std::size_t offset, const std::string& what, const std::string& key, const std::string& hint,
                         const std::string& detail = {}) const;

  ErrorCode code_;
  std::string text_;
  std::string file_;
  nlohmann::json root_;
};

// Gives typed access to the members of one object of a document. The document must outlive it.
class JsonObject {
 public:
  // Opens the document's outermost object.
  explicit JsonObject(const JsonDocument& document) : JsonObject(document, "", document.root()) {}
  // Opens the object at a pointer. Throws with `hint` if the value there is not an object.
  JsonObject(const JsonDocument& document, std::string pointer, const nlohmann::json& value,
             const std::string& hint = {});

  // Throws an error about the first member with another name. The hint is the nearest of these names.
  void allow_only(std::initializer_list<const char*> keys) const;

  // Return the member's value; absent if there is no such member. Throw if it has another type.
  [[nodiscard]] std::optional<std::string> string(const std::string& key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& key) const;
  [[nodiscard]] std::optional<double> number(const std::string& key) const;
  [[nodiscard]] std::optional<bool> boolean(const std::string& key) const;
  // Return null if there is no such member.
  [[nodiscard]] const nlohmann::json* array(const std::string& key) const;
  [[nodiscard]] const nlohmann::json* object(const std::string& key) const;

  [[nodiscard]] const nlohmann::json& value() const { return value_; }
  [[nodiscard]] bool has(const std::string& key) const { return value_.contains(key); }
  [[nodiscard]] std::string pointer_to(const std::string& key) const;

  // Throw an error about this object, or about the value or the key of a member.
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const;
  [[noreturn]] void fail_at_value(const std::string& key, const std::string& what, const std::string& hint) const;
  [[noreturn]] void fail_at_key(const std::string& key, const std::string& what, const std::string& hint) const;

 private:
  [[nodiscard]] const nlohmann::json* find(const std::string& key, bool (*is_type)(const nlohmann::json&),
                                           const char* what) const;

  const JsonDocument& document_;
  std::string pointer_;
  const nlohmann::json& value_;
};

// Returns the JSON pointer to a child of an array or object.
[[nodiscard]] std::string pointer_to(const std::string& parent, const std::string& key);
[[nodiscard]] std::string pointer_to(const std::string& parent, std::size_t index);

// Returns the content of a file. Throws Error(code).
[[nodiscard]] std::string read_file(ErrorCode code, const std::string& path, const std::string& hint);

}  // namespace looseleaf::model

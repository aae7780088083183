// Reads configuration files in JSON and reports errors in them.
#include "model/json/json_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/nearest.hpp"
#include "base/text.hpp"

namespace looseleaf::model {
namespace {

using nlohmann::json;

constexpr std::size_t largest_file = 4U << 20U;

// Returns a pointer's last key as it is written in the file.
std::string last_key(const std::string& pointer) {
  const json::json_pointer parsed(pointer);
  return parsed.empty() ? std::string() : parsed.back();
}

bool is_index(const std::string& key) {
  return !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

JsonDocument::JsonDocument(ErrorCode code, std::string_view text, std::string file)
    : code_(code), text_(text), file_(std::move(file)) {
  try {
    root_ = parse_strict(text_, BigIntegers::with_all_digits);
  } catch (const JsonFault& fault) {
    const bool duplicate = fault.kind == JsonFaultKind::duplicate_key;
    fail(fault.offset, fault.what(), duplicate ? fault.detail : "", hint_for(fault, text_),
         duplicate ? "" : fault.detail);
  }
  if (!root_.is_object()) {
    fail(place_of(text_, "").value, "not a JSON object", "", "write one JSON object");
  }
}

void JsonDocument::fail_at_value(const std::string& pointer, const std::string& what, const std::string& hint) const {
  fail(place_of(text_, pointer).value, what, last_key(pointer), hint);
}

void JsonDocument::fail_at_key(const std::string& pointer, const std::string& what, const std::string& hint) const {
  fail(place_of(text_, pointer).key, what, last_key(pointer), hint);
}

void JsonDocument::fail(std::size_t offset, const std::string& what, const std::string& key, const std::string& hint,
                        const std::string& detail) const {
  const Position position = position_after(std::string_view(text_).substr(0, offset));
  Error::Context context = {
      {"file", file_}, {"line", std::to_string(position.line)}, {"column", std::to_string(position.column)}};
  if (!key.empty() && !is_index(key)) {
    context.emplace_back("key", key);
  }
  if (!detail.empty()) {
    context.emplace_back("detail", detail);
  }
  throw Error(code_, what, std::move(context), hint);
}

JsonObject::JsonObject(const JsonDocument& document, std::string pointer, const json& value, const std::string& hint)
    : document_(document), pointer_(std::move(pointer)), value_(value) {
  if (!value_.is_object()) {
    fail("not a JSON object", hint);
  }
}

void JsonObject::allow_only(std::initializer_list<const char*> keys) const {
  const std::vector<std::string_view> valid(keys.begin(), keys.end());
  for (const auto& member : value_.items()) {
    if (std::find(valid.begin(), valid.end(), member.key()) != valid.end()) {
      continue;
    }
    const std::optional<std::string_view> meant = base::nearest(member.key(), valid);
    fail_at_key(member.key(), "unknown key",
                meant ? fmt::format("did you mean \"{}\"?", *meant)
                      : fmt::format("use one of the keys {}", fmt::join(valid, ", ")));
  }
}

const json* JsonObject::find(const std::string& key, bool (*is_type)(const json&), const char* what) const {
  const auto member = value_.find(key);
  if (member == value_.end()) {
    return nullptr;
  }
  if (!is_type(*member)) {
    fail_at_value(key, "value has the wrong type", fmt::format("give \"{}\" {}", key, what));
  }
  return &*member;
}

std::optional<std::string> JsonObject::string(const std::string& key) const {
  const json* found = find(
      key, [](const json& value) { return value.is_string(); }, "a string");
  return found != nullptr ? std::optional(found->get<std::string>()) : std::nullopt;
}

std::optional<std::int64_t> JsonObject::integer(const std::string& key) const {
  const json* found = find(
      key, [](const json& value) { return value.is_number_integer(); }, "a whole number");
  return found != nullptr ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

std::optional<double> JsonObject::number(const std::string& key) const {
  const json* found = find(
      key, [](const json& value) { return value.is_number(); }, "a number");
  return found != nullptr ? std::optional(found->get<double>()) : std::nullopt;
}

std::optional<bool> JsonObject::boolean(const std::string& key) const {
  const json* found = find(
      key, [](const json& value) { return value.is_boolean(); }, "true or false");
  return found != nullptr ? std::optional(found->get<bool>()) : std::nullopt;
}

const json* JsonObject::array(const std::string& key) const {
  return find(
      key, [](const json& value) { return value.is_array(); }, "an array");
}

const json* JsonObject::object(const std::string& key) const {
  return find(
      key, [](const json& value) { return value.is_object(); }, "an object");
}

std::string JsonObject::pointer_to(const std::string& key) const {
  return model::pointer_to(pointer_, key);
}

void JsonObject::fail(const std::string& what, const std::string& hint) const {
  document_.fail_at_value(pointer_, what, hint);
}

void JsonObject::fail_at_value(const std::string& key, const std::string& what, const std::string& hint) const {
  document_.fail_at_value(pointer_to(key), what, hint);
}

void JsonObject::fail_at_key(const std::string& key, const std::string& what, const std::string& hint) const {
  document_.fail_at_key(pointer_to(key), what, hint);
}

std::string pointer_to(const std::string& parent, const std::string& key) {
  return (json::json_pointer(parent) / key).to_string();
}

std::string pointer_to(const std::string& parent, std::size_t index) {
  return (json::json_pointer(parent) / index).to_string();
}

std::string read_file(ErrorCode code, const std::string& path, const std::string& hint) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  try {
    if (file) {
      text = base::read_at_most(file, largest_file + 1);
    }
  } catch (const std::ios::failure&) {  // the path is a directory, or the disk failed
    file.setstate(std::ios::badbit);
  }
  if (!file || file.bad()) {
    // Then this process ran out of memory or descriptors, and the file is not the reason.
    const bool exhausted = errno == ENOMEM || errno == EMFILE || errno == ENFILE;
    throw Error(exhausted ? ErrorCode::io : code, "the file cannot be read",
                {{"file", path}, {"reason", std::generic_category().message(errno)}},
                exhausted ? "let the process have more memory and open files" : hint);
  }
  if (text.size() > largest_file) {
    throw Error(code, "the file is too large", {{"file", path}}, "shorten it to at most 4 MiB");
  }
  return text;
}

}  // namespace looseleaf::model

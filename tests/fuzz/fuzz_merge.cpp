// An entity and a patch, on both sides of the first `|`: what they merge into means what nlohmann merges them into, and
// what the patch does not name stays as it is.
#include <cstddef>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "model/entity.hpp"
#include "model/merge_patch.hpp"
#include "tests/fuzz/oracle.hpp"

namespace {

using namespace looseleaf;
using fuzz::require;
using nlohmann::json;

// The text as it would be stored.
std::optional<std::string> accepted(std::string_view text) {
  try {
    return model::accept_entity(std::string(text)).text;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string merged_by_nlohmann(const std::string& target, const std::string& patch) {
  json result = json::parse(target), changes = json::parse(patch);
  changes.erase("id");
  result.merge_patch(changes);
  return result.dump();
}

// The white space before a brace or a comma goes with the member that is deleted there.
std::string without_white_space(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string || std::string_view(" \t\r\n").find(text[i]) == std::string_view::npos) {
      result += text[i];
    }
    if (in_string && text[i] == '\\') {
      result += text[++i];
    } else if (text[i] == '"') {
      in_string = !in_string;
    }
  }
  return result;
}

// Every member without a change as it is written: what is left if the patch deletes all that it names.
std::string rest_of(const std::string& target, const std::string& patch) {
  json deletion = json::object();
  const json changes = json::parse(patch);
  for (const auto& member : changes.items()) {
    deletion[member.key()] = nullptr;
  }
  return without_white_space(model::merge_patch(target, deletion.dump()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t bar = input.find('|');
  if (bar == std::string_view::npos) {
    return 0;
  }
  const auto target = accepted(input.substr(0, bar)), patch = accepted(input.substr(bar + 1));
  if (!target || !patch) {
    return 0;
  }
  const std::string merged = model::merge_patch(*target, *patch);
  require(json::parse(merged).dump() == merged_by_nlohmann(*target, *patch), "the result means what RFC 7396 says");
  require(accepted(merged) == merged, "the result is an entity, which is stored as it is");
  require(model::merge_patch(merged, *patch) == merged, "a second merge changes nothing");
  require(model::merge_patch(*target, R"({"id":1})") == *target, "a patch without members changes nothing");
  require(rest_of(merged, *patch) == rest_of(*target, *patch), "members that are not named stay byte for byte");
  return 0;
}

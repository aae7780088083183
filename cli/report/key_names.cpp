// Compares the properties of --key with the input.
#include "cli/report/key_names.hpp"

#include <fmt/format.h>

#include <looseleaf/error.hpp>

#include "base/nearest.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t most_names = 1000;

bool has(const Json& object, std::string_view path) {
  const std::size_t dot = path.find('.');
  const auto member = object.is_object() ? object.find(path.substr(0, dot)) : object.end();
  return member != object.end() && (dot == std::string_view::npos || has(*member, path.substr(dot + 1)));
}

}  // namespace

std::string hint_for_missing(std::string_view property, std::span<const std::string_view> names) {
  const auto meant = base::nearest(property, names);
  return meant ? fmt::format("check the spelling: there is `{}`", *meant)
               : "check the spelling: capital letters differ from small ones";
}

void KeyNames::find_in(std::string_view entity) {
  if (missing_.empty()) {
    return;
  }
  const Json parsed = Json::parse(entity, nullptr, false);
  if (!parsed.is_object()) {
    return;
  }
  looked_ = true;
  std::erase_if(missing_, [&](const std::string& property) { return has(parsed, property); });
  for (const auto& member : parsed.items()) {
    if (names_.size() < most_names) {
      names_.insert(member.key());
    }
  }
}

void KeyNames::report() const {
  if (!looked_) {
    return;
  }
  const std::vector<std::string_view> names(names_.begin(), names_.end());
  for (const std::string& property : missing_) {
    print_error(Error(ErrorCode::bad_entity, "no entity that was read has this property of the key",
                      {{"option", "--key"}, {"property", property}}, hint_for_missing(property, names)));
  }
}

}  // namespace looseleaf::cli

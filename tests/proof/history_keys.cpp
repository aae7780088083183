#include "tests/proof/history_keys.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/proof/unique_claims.hpp"

namespace looseleaf::test {
namespace {

// Empty if there is none.
std::string key_of(const std::string& text) {
  const auto key = text.empty() ? nlohmann::json() : nlohmann::json::parse(text).value("key", nlohmann::json());
  return key.is_string() ? key.get<std::string>() : std::string();
}

// Merges leave the key as it is. What a get found the entity had at some moment, as if it had been written then.
UniqueClaims claims_of(const std::vector<Operation>& history) {
  UniqueClaims claims;
  for (const Operation& operation : history) {
    const bool tells = operation.action != Action::query && operation.action != Action::merge;
    const bool is_certain = operation.outcome == Outcome::done;
    const bool may_have_happened = operation.outcome == Outcome::unknown && operation.action != Action::get;
    if (tells && (is_certain || may_have_happened)) {
      claims.add(operation.id, {operation.start, operation.end, key_of(operation.text), is_certain});
    }
  }
  return claims;
}

}  // namespace

std::vector<std::string> wrong_keys(const std::vector<Operation>& history) {
  const UniqueClaims claims = claims_of(history);
  std::vector<std::string> wrong;
  for (const auto& [key, one, other, moment] : claims.shared()) {
    wrong.push_back(fmt::format("{} and {} had the key {} at {}", one, other, key, moment));
  }
  for (const Operation& put : history) {
    if (!put.holder.empty() && !claims.may_have_had(put.holder, key_of(put.text), put.start, put.end)) {
      wrong.push_back(fmt::format("{} ({}..{}) was rejected, putting {}, because of {}, which had another key",
                                  put.name, put.start, put.end, put.text, put.holder));
    }
  }
  return wrong;
}

}  // namespace looseleaf::test

#include "tests/proof/crash_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/proof/history_keys.hpp"

namespace looseleaf::test {
namespace {

CrashValue value_of(const Operation& write) {
  return write.action == Action::remove ? std::nullopt : CrashValue(write.text);
}

bool may_have_effect(const Operation& write) {
  return write.outcome == Outcome::done || write.outcome == Outcome::unknown;
}

bool matches(const std::string& body, const CrashQuery& query) {
  const auto entity = nlohmann::json::parse(body);
  const auto found = entity.find(query.property);
  if (found == entity.end()) {
    return false;
  }
  const auto equals = [&](const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() == query.value : value.dump() == query.value;
  };
  return found->is_array() ? std::any_of(found->begin(), found->end(), equals) : equals(*found);
}

}  // namespace

std::string crash_id(int number) {
  return fmt::format("018f2c4e1a2b7c3d8e4f{:012x}", number);
}

std::string crash_entity(int number, std::uint64_t random, const std::string& name) {
  const std::uint64_t n = random % 40, tag = random / 64 % 40;
  const int owner = random / 4096 % 10 == 0 ? number + 1 : number;
  const bool has_key = random / 65536 % (number < 1000 ? 8 : 64) == 0;
  return fmt::format(R"({{"id":"{}","n":{},"c":"c{}","tags":[{},{}],"m":{},"u":{}{}{},"w":"{}"}})", crash_id(number), n,
                     n / 2, tag, (tag + 1) % 40, n % 5, number,
                     number % 2 == 1 ? fmt::format(R"(,"owner":{})", owner) : std::string(),
                     has_key ? fmt::format(R"(,"k":{})", (random >> 32) % crash_keys) : std::string(), name);
}

CrashValue CrashHistory::value_before(const std::string& id) const {
  const auto found = before_.find(id);
  return found == before_.end() ? std::nullopt : CrashValue(found->second);
}

std::vector<std::string> CrashHistory::all_ids() const {
  std::set<std::string> ids;
  for (const auto& [id, body] : before_) {
    ids.insert(id);
  }
  for (const auto& [id, writes] : writes_) {
    ids.insert(id);
  }
  return {ids.begin(), ids.end()};
}

std::string CrashHistory::describe(const std::string& id) const {
  std::string text = "\n  before: " + value_before(id).value_or("absent");
  if (const auto found = writes_.find(id); found != writes_.end()) {
    for (const Operation& write : found->second) {
      const bool told = write.outcome == Outcome::done;
      text += fmt::format("\n  {} from {} to {}, {}: {}", write.name, write.start, write.end,
                          told                                ? "acknowledged"
                          : write.outcome == Outcome::unknown ? "outcome unknown"
                                                              : "no effect",
                          value_of(write).value_or("delete"));
    }
  }
  return text;
}

bool CrashHistory::possible(const std::string& id, const CrashValue& value) const {
  const auto found = writes_.find(id);
  if (found == writes_.end()) {
    return value == value_before(id);
  }
  const auto overwritten = [&](long long end) {
    return std::any_of(found->second.begin(), found->second.end(),
                       [&](const Operation& write) { return write.outcome == Outcome::done && write.start > end; });
  };
  return (value == value_before(id) && !overwritten(0)) ||
         std::any_of(found->second.begin(), found->second.end(), [&](const Operation& write) {
           return may_have_effect(write) && value_of(write) == value && !overwritten(write.end);
         });
}

std::vector<std::string> CrashHistory::lost_or_reverted(const std::map<std::string, std::string>& after) const {
  std::vector<std::string> wrong;
  for (const std::string& id : all_ids()) {
    const auto found = after.find(id);
    const CrashValue value = found == after.end() ? std::nullopt : CrashValue(found->second);
    if (!possible(id, value)) {
      wrong.push_back(fmt::format("{} is {}{}", id, value.value_or("absent"), describe(id)));
    }
  }
  for (const auto& [id, body] : after) {
    if (!before_.contains(id) && !writes_.contains(id)) {
      wrong.push_back(id + " was never written");
    }
  }
  return wrong;
}

std::optional<CrashValue> CrashHistory::settled(const std::string& id, long long start, long long end) const {
  const auto found = writes_.find(id);
  if (found == writes_.end()) {
    return value_before(id);
  }
  const Operation* last = nullptr;
  for (const Operation& write : found->second) {
    if (!may_have_effect(write) || write.start > end) {
      continue;
    }
    if (write.end > start) {
      return std::nullopt;
    }
    last = last == nullptr || write.start > last->start ? &write : last;
  }
  if (last == nullptr) {
    return value_before(id);
  }
  const bool certain = std::all_of(found->second.begin(), found->second.end(), [&](const Operation& write) {
    return &write == last || !may_have_effect(write) || write.start > end || write.end < last->start;
  });
  return certain ? std::optional<CrashValue>(value_of(*last)) : std::nullopt;
}

std::vector<std::string> CrashHistory::wrong_answers(const CrashQuery& query, std::uint64_t& checked) const {
  std::vector<std::string> wrong;
  for (const std::string& id : query.twice) {
    if (settled(id, query.start, query.end)) {
      wrong.push_back(id + " twice");
    }
  }
  for (const std::string& id : all_ids()) {
    const auto value = settled(id, query.start, query.end);
    if (!value) {
      continue;
    }
    ++checked;
    const auto found = query.found.find(id);
    const bool is_found = found != query.found.end();
    const bool should_be = *value && matches(**value, query);
    if (is_found != should_be || (is_found && found->second != **value)) {
      wrong.push_back(fmt::format("{} by {}={} from {} to {}: found {}, is {}{}", id, query.property, query.value,
                                  query.start, query.end, is_found ? found->second : "absent",
                                  value->value_or("absent"), describe(id)));
    }
  }
  return wrong;
}

std::vector<std::string> CrashHistory::wrong_keys(std::uint64_t& refused) const {
  std::vector<Operation> history;
  for (const std::string& id : all_ids()) {
    Operation before;
    before.end = 0;
    before.outcome = Outcome::done;
    before.id = id;
    before.text = value_before(id).value_or("");
    history.push_back(before);
  }
  for (const auto& [id, writes] : writes_) {
    for (const Operation& write : writes) {
      refused += write.holder.empty() ? 0 : 1;
      history.push_back(write);
    }
  }
  std::vector<std::string> wrong;
  for (const auto& [sentence, ids] : test::wrong_keys(history, "k")) {
    wrong.push_back(sentence);
    for (const std::string& id : ids) {
      wrong.back() += fmt::format("\n{}{}", id, describe(id));
    }
  }
  return wrong;
}

std::uint64_t CrashHistory::acknowledged() const {
  std::uint64_t count = 0;
  for (const auto& [id, writes] : writes_) {
    count += static_cast<std::uint64_t>(std::count_if(
        writes.begin(), writes.end(), [](const Operation& write) { return write.outcome == Outcome::done; }));
  }
  return count;
}

}  // namespace looseleaf::test

// Reading the recorders' logs, and judging.
#include "tests/proof/crash_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/proof/unique_claims.hpp"

namespace looseleaf::test {
namespace {

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '\t');) {
    cells.push_back(cell);
  }
  return cells;
}

CrashStatus status_of(const std::string& word) {
  return word == "stored" ? CrashStatus::acknowledged : word == "unknown" ? CrashStatus::maybe : CrashStatus::no_effect;
}

// Empty: it has none.
std::string key_of(const CrashValue& value) {
  const auto key = value ? nlohmann::json::parse(*value).value("k", -1) : -1;
  return key < 0 ? std::string() : std::to_string(key);
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

long long crash_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

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

int read_crash_log(const std::string& text, CrashWrites& writes) {
  std::vector<std::pair<std::string, CrashWrite>> begun;
  std::map<std::string, std::size_t> by_name;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    const std::vector<std::string> cell = cells(line);
    if (cell.at(0) == "S") {
      by_name.emplace(cell.at(1), begun.size());
      const CrashValue value = cell.at(4) == "-" ? std::nullopt : CrashValue(cell.at(4));
      begun.push_back({cell.at(3), {cell.at(1), value, std::stoll(cell.at(2)), never, CrashStatus::maybe}});
    } else {
      CrashWrite& write = begun.at(by_name.at(cell.at(1))).second;
      write.status = status_of(cell.at(3));
      write.end = write.status == CrashStatus::maybe ? never : std::stoll(cell.at(2));
      write.holder = cell.size() > 4 ? cell[4] : "";
    }
  }
  int unended = 0;
  for (auto& [id, write] : begun) {
    unended += write.end == never ? 1 : 0;
    writes[id].push_back(std::move(write));
  }
  return unended;
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
    for (const CrashWrite& write : found->second) {
      const bool told = write.status == CrashStatus::acknowledged;
      text += fmt::format("\n  {} from {} to {}, {}: {}", write.name, write.start, write.end,
                          told                                 ? "acknowledged"
                          : write.status == CrashStatus::maybe ? "outcome unknown"
                                                               : "no effect",
                          write.value.value_or("delete"));
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
    return std::any_of(found->second.begin(), found->second.end(), [&](const CrashWrite& write) {
      return write.status == CrashStatus::acknowledged && write.start > end;
    });
  };
  return (value == value_before(id) && !overwritten(0)) ||
         std::any_of(found->second.begin(), found->second.end(), [&](const CrashWrite& write) {
           return write.status != CrashStatus::no_effect && write.value == value && !overwritten(write.end);
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
  const CrashWrite* last = nullptr;
  for (const CrashWrite& write : found->second) {
    if (write.status == CrashStatus::no_effect || write.start > end) {
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
  const bool certain = std::all_of(found->second.begin(), found->second.end(), [&](const CrashWrite& write) {
    return &write == last || write.status == CrashStatus::no_effect || write.start > end || write.end < last->start;
  });
  return certain ? std::optional<CrashValue>(last->value) : std::nullopt;
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
  UniqueClaims claims;
  for (const std::string& id : all_ids()) {
    claims.add(id, {0, 0, key_of(value_before(id))});
  }
  for (const auto& [id, writes] : writes_) {
    for (const CrashWrite& write : writes) {
      if (write.status != CrashStatus::no_effect) {
        claims.add(id, {write.start, write.end, key_of(write.value), write.status == CrashStatus::acknowledged});
      }
    }
  }
  std::vector<std::string> wrong;
  for (const auto& [key, one, other, moment] : claims.shared()) {
    wrong.push_back(fmt::format("k = {} at {}: {}{}\n{}{}", key, moment, one, describe(one), other, describe(other)));
  }
  for (const auto& [id, writes] : writes_) {
    for (const CrashWrite& write : writes) {
      refused += write.holder.empty() ? 0 : 1;
      if (!write.holder.empty() && !claims.may_have_had(write.holder, key_of(write.value), write.start, write.end)) {
        wrong.push_back(fmt::format("{}, refused from {} to {}: {}\nbecause of {}{}", write.name, write.start,
                                    write.end, *write.value, write.holder, describe(write.holder)));
      }
    }
  }
  return wrong;
}

std::uint64_t CrashHistory::acknowledged() const {
  std::uint64_t count = 0;
  for (const auto& [id, writes] : writes_) {
    count += static_cast<std::uint64_t>(std::count_if(writes.begin(), writes.end(), [](const CrashWrite& write) {
      return write.status == CrashStatus::acknowledged;
    }));
  }
  return count;
}

}  // namespace looseleaf::test

// Reading the recorders' logs, and judging.
#include "tests/proof/crash_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

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

// -1: it has none.
int key_of(const CrashValue& value) {
  return value ? nlohmann::json::parse(*value).value("k", -1) : -1;
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

long long CrashHistory::certain_until(const std::string& id, const CrashWrite* write) const {
  long long until = never;
  if (const auto found = writes_.find(id); found != writes_.end()) {
    for (const CrashWrite& other : found->second) {
      if (&other != write && other.status != CrashStatus::no_effect && (write == nullptr || other.end > write->start)) {
        until = std::min(until, other.start);
      }
    }
  }
  return until;
}

std::vector<std::string> CrashHistory::shared_keys() const {
  struct Held {
    long long start, end;
    std::string id;

    auto operator<=>(const Held&) const = default;
  };
  std::map<int, std::set<Held>> held;
  for (const std::string& id : all_ids()) {
    held[key_of(value_before(id))].insert({0, certain_until(id, nullptr), id});
    if (const auto found = writes_.find(id); found != writes_.end()) {
      for (const CrashWrite& write : found->second) {
        const long long until = certain_until(id, &write);
        if (write.status == CrashStatus::acknowledged && write.end < until) {
          held[key_of(write.value)].insert({write.end, until, id});
        }
      }
    }
  }
  held.erase(-1);
  std::vector<std::string> shared;
  for (const auto& [key, all] : held) {
    const Held* last = nullptr;  // of those so far, the one that is held longest
    for (const Held& next : all) {
      if (last != nullptr && next.start < last->end && next.id != last->id) {
        shared.push_back(fmt::format("{} at {}: {}{}\n{}{}", key, next.start, last->id, describe(last->id), next.id,
                                     describe(next.id)));
      }
      last = last == nullptr || next.end > last->end ? &next : last;
    }
  }
  return shared;
}

bool CrashHistory::may_have_had(const std::string& id, int key, long long start, long long end) const {
  const auto found = writes_.find(id);
  const std::vector<CrashWrite> none;
  const std::vector<CrashWrite>& writes = found == writes_.end() ? none : found->second;
  const auto overwritten = [&](long long written) {
    return std::any_of(writes.begin(), writes.end(), [&](const CrashWrite& write) {
      return write.status == CrashStatus::acknowledged && write.start > written && write.end < start;
    });
  };
  return (key_of(value_before(id)) == key && !overwritten(0)) ||
         std::any_of(writes.begin(), writes.end(), [&](const CrashWrite& write) {
           return write.status != CrashStatus::no_effect && write.start < end && key_of(write.value) == key &&
                  !overwritten(write.end);
         });
}

std::vector<std::string> CrashHistory::wrong_holders(std::uint64_t& refused) const {
  std::vector<std::string> wrong;
  for (const auto& [id, writes] : writes_) {
    for (const CrashWrite& write : writes) {
      refused += write.holder.empty() ? 0 : 1;
      if (!write.holder.empty() && !may_have_had(write.holder, key_of(write.value), write.start, write.end)) {
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

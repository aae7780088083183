// Keeping the greatest stamp, and the comparison with the store.
#include "tests/proof/crash_consumer.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace looseleaf::test {

CrashConsumer::CrashConsumer(const std::map<std::string, std::string>& bodies) {
  for (const auto& [id, text] : bodies) {
    entities_[id] = {"", text};
  }
}

void CrashConsumer::take(std::string_view line) {
  constexpr std::string_view member = "\"entity\":";
  ++versions_;
  const auto change = nlohmann::json::parse(line);
  Version& version = entities_[change["id"]];
  const std::string stamp = change["stamp"];
  if (stamp <= version.stamp) {
    return;
  }
  version.stamp = stamp;
  version.text.reset();
  if (const std::size_t at = line.find(member); at != std::string_view::npos) {
    version.text = line.substr(at + member.size(), line.size() - at - member.size() - 1);
  }
}

std::vector<std::string> CrashConsumer::differences(const ObservedStore& store) const {
  std::map<std::string, std::string> had;
  for (const auto& [id, version] : entities_) {
    if (version.text) {
      had[id] = *version.text;
    }
  }
  std::vector<std::string> found;
  const auto wanted = bodies(store);
  for (const auto& [id, text] : wanted) {
    const auto have = had.find(id);
    if (have == had.end() || have->second != text) {
      found.push_back(
          fmt::format("{}: stored {}, delivered {}", id, text, have == had.end() ? "nothing" : have->second));
    }
  }
  for (const auto& [id, text] : had) {
    if (!wanted.contains(id)) {
      found.push_back(fmt::format("{}: deleted, delivered {}", id, text));
    }
  }
  return found;
}

}  // namespace looseleaf::test

// Names from the catalog, for completions.
#include "cli/catalog_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <looseleaf/datastore.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/commands/connect.hpp"
#include "cli/registry/numbers.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::uint32_t most_asked = 8;

// The time that a shard has for its answer: 300 ms, or as many seconds as the environment says.
std::chrono::milliseconds patience() {
  constexpr const char* name = "LOOSELEAF_COMPLETION_TIMEOUT";
  const char* const seconds = std::getenv(name);
  return std::chrono::milliseconds(
      seconds != nullptr ? static_cast<std::int64_t>(1000.0 * parse_seconds(name, seconds, "variable")) : 300);
}

// The threads that ask share it, because they may outlive the caller.
struct Question {
  explicit Question(Datastore opened) : store(std::move(opened)) {}

  Datastore store;
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<std::vector<IndexStatus>> answer;
};

void ask(const std::shared_ptr<Question>& question, std::uint32_t shard) {
  try {
    ShardStatus status = question->store.status(shard);
    if (status.state == ShardState::up) {
      const std::lock_guard lock(question->mutex);
      question->answer = std::move(status.indexes);
      question->answered.notify_one();
    }
  } catch (const std::exception&) {  // completion then offers no names
  }
}

std::vector<IndexStatus> indexes(const Globals& globals) {
  try {
    const auto question = std::make_shared<Question>(open_store_silently(globals));
    for (std::uint32_t shard = 0; shard < std::min(question->store.shard_count(), most_asked); ++shard) {
      std::thread(ask, question, shard).detach();
    }
    std::unique_lock lock(question->mutex);
    question->answered.wait_for(lock, patience(), [&] { return question->answer.has_value(); });
    return question->answer.value_or(std::vector<IndexStatus>());
  } catch (const std::exception&) {
    return {};
  }
}

std::string list_of(const std::vector<Property>& properties) {
  std::string list;
  for (const auto& property : properties) {
    list += (list.empty() ? "" : ", ") + property.name;
  }
  return list;
}

// False for a name that a condition has in double quotes: a shell would take them away.
bool can_be_typed(const std::string& name) {
  try {
    return Condition::parse(name + "=").property == name;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<Candidate> index_names(const Globals& globals, const std::vector<std::string>& given) {
  std::vector<Candidate> names;
  for (const auto& index : indexes(globals)) {
    if (std::find(given.begin(), given.end(), index.table) == given.end()) {
      const auto definition = IndexDefinition::parse(index.definition, index.table);
      names.push_back({index.table, fmt::format("{}: {}", to_string(index.state), list_of(definition.properties))});
    }
  }
  return names;
}

std::vector<Candidate> property_names(const Globals& globals, const std::string& index) {
  std::vector<Candidate> names;
  for (const auto& status : indexes(globals)) {
    if (status.table == index) {
      for (const auto& property : IndexDefinition::parse(status.definition, status.table).properties) {
        if (can_be_typed(property.name)) {
          names.push_back({property.name + "=", to_string(property.type)});
        }
      }
    }
  }
  return names;
}

}  // namespace looseleaf::cli

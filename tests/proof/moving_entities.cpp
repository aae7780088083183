// A writer that keeps a few entities moving, and their states.
#include "tests/proof/moving_entities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>

namespace looseleaf::test {
namespace {

constexpr MovingEntities::Moment never = std::numeric_limits<MovingEntities::Moment>::max();
constexpr auto pause = std::chrono::milliseconds(2);  // so that the servers have time for queries too

}  // namespace

MovingEntities::MovingEntities(Datastore store, const std::vector<Uuid>& ids, Taste taste, std::uint64_t seed)
    : store_(std::move(store)), ids_(ids), taste_(std::move(taste)), random_(seed) {
  for (const Uuid& id : ids_) {
    versions_[id].push_back({});
  }
  writer_ = std::jthread([this](const std::stop_token& stop) { write(stop); });
}

MovingEntities::Moment MovingEntities::now() {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) {
    throw std::runtime_error(failure_);
  }
  return ++moment_;
}

std::vector<MovingEntities::State> MovingEntities::states(const Uuid& id, Moment from, Moment to) const {
  const std::lock_guard lock(mutex_);
  std::vector<State> states;
  const auto versions = versions_.find(id);
  if (versions == versions_.end()) {
    return states;
  }
  for (auto version = versions->second.begin(); version != versions->second.end(); ++version) {
    const auto next = std::next(version);
    if (version->begun <= to && (next == versions->second.end() || next->acknowledged >= from)) {
      states.push_back(version->state);
    }
  }
  return states;
}

std::uint64_t MovingEntities::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

void MovingEntities::write(const std::stop_token& stop) {
  try {
    WriteStream stream(store_, [this](const WriteResult& result) { take(result); });
    while (!stop.stop_requested()) {
      write_some(stream);
      std::this_thread::sleep_for(pause);
    }
    stream.finish();
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    failure_ = fmt::format("the writer stopped: {}", error.what());
  }
}

void MovingEntities::write_some(WriteStream& stream) {
  std::vector<Uuid> ids = ids_;
  std::shuffle(ids.begin(), ids.end(), std::mt19937_64(random_.number()));
  ids.resize(1 + random_.below(4));
  for (const Uuid& id : ids) {
    const State before = states(id, never, never).back();
    State state = random_.one_in(5) ? nullptr : next_state(id, before);
    begin(id, state);
    if (state) {
      stream.put(state->text);
    } else {
      stream.remove(id);
    }
  }
  stream.flush();
}

// Often with the same values in all indexes, or all but some; with a note that tells all states apart.
MovingEntities::State MovingEntities::next_state(const Uuid& id, const State& before) {
  Json json = random_entity(random_, taste_);
  if (before && !random_.one_in(3)) {
    Json same = before->json;
    same.members.pop_back();
    for (const auto& [name, value] : json.members) {
      const auto member =
          std::find_if(same.members.begin(), same.members.end(), [&](const auto& one) { return one.first == name; });
      if (member != same.members.end() && random_.one_in(6)) {
        member->second = value;
      }
    }
    json = std::move(same);
  } else {
    json.members.emplace(json.members.begin(), "id", Json::string(to_string(id)));
  }
  json.members.emplace_back("note", Json::number(fmt::format("{}", ++notes_)));
  return std::make_shared<const Reference::Stored>(Reference::Stored{json.write(), json});
}

void MovingEntities::begin(const Uuid& id, State state) {
  const std::lock_guard lock(mutex_);
  versions_.at(id).push_back({std::move(state), ++moment_, never});
}

void MovingEntities::take(const WriteResult& result) {
  const std::lock_guard lock(mutex_);
  std::vector<Version>& versions = versions_.at(result.id.value());
  switch (result.status) {
    case WriteStatus::stored:
    case WriteStatus::not_found:
      versions.back().acknowledged = ++moment_;
      ++writes_;
      break;
    case WriteStatus::rejected:  // an immutable property would have changed
      versions.pop_back();
      break;
    default:
      failure_ = fmt::format("a write failed: {}", result.error ? result.error->what() : "");
  }
}

}  // namespace looseleaf::test

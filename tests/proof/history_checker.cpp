// The check is that of Wing and Gong, made just in time as by Lowe: entity by entity, going through the starts and ends
// in order of time, it keeps every state that some order of the writes so far leads to, and orders a write only when an
// end demands it. Every text is put only once, so that the states stay few.
#include "tests/proof/history_checker.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "tests/proof/history_keys.hpp"

namespace looseleaf::test {
namespace {

constexpr int absent = 0;  // the number of "no entity"; texts count up from 1

// What the indexes see of a text.
struct Body {
  std::map<std::string, std::set<std::string>> values;  // by property

  [[nodiscard]] const std::set<std::string>& of(const std::string& property) const {
    static const std::set<std::string> none;
    const auto found = values.find(property);
    return found == values.end() ? none : found->second;
  }

  [[nodiscard]] bool meets(const RangeQuery& query) const {
    const std::set<std::string>& all = of(query.property);
    const auto first = all.lower_bound(query.from);
    return first != all.end() && *first <= query.to;
  }
};

Body read_body(const std::string& text) {
  Body body;
  const auto json = nlohmann::json::parse(text);
  for (const auto& [property, value] : json.items()) {
    if (value.is_string()) {
      body.values[property].insert(value.get<std::string>());
    } else if (value.is_array()) {
      const auto elements = value.get<std::vector<std::string>>();
      body.values[property].insert(elements.begin(), elements.end());
    }
  }
  return body;
}

// The members of the texts of workers are written without white space, so this is what is stored.
std::string merged(const std::string& text, const std::string& changes) {
  auto json = nlohmann::ordered_json::parse(text);
  json.merge_patch(nlohmann::ordered_json::parse(changes));
  return json.dump();
}

// The bodies of one entity's texts, by number.
class Bodies {
 public:
  // Absent for a text that was never put.
  [[nodiscard]] std::optional<int> number_of(const std::string& text) const {
    if (text.empty()) {
      return absent;
    }
    const auto found = numbers_.find(text);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

  int add(const std::string& text) {
    bodies_.push_back(read_body(text));
    texts_.push_back(text);
    for (const auto& [property, values] : bodies_.back().values) {
      ever_.values[property].insert(values.begin(), values.end());
    }
    if (!numbers_.emplace(text, static_cast<int>(bodies_.size())).second) {
      throw std::invalid_argument("a text is put twice: " + text);
    }
    return static_cast<int>(bodies_.size());
  }

  int find_or_add(const std::string& text) {
    const auto found = number_of(text);
    return found ? *found : add(text);
  }

  // Notes that some text may have these values.
  void expect_values(const std::string& members) {
    for (const auto& [property, values] : read_body(members).values) {
      ever_.values[property].insert(values.begin(), values.end());
    }
  }

  [[nodiscard]] std::string text(int number) const {
    return number == absent ? "nothing" : texts_.at(static_cast<std::size_t>(number) - 1);
  }

  // The values with which an entity meets a query.
  [[nodiscard]] std::set<std::string> matching(int number, const RangeQuery& query) const {
    const std::set<std::string>& all = body(number).of(query.property);
    return {all.lower_bound(query.from), all.upper_bound(query.to)};
  }

  [[nodiscard]] bool matches(int number, const RangeQuery& query) const { return body(number).meets(query); }

  // False if no text does.
  [[nodiscard]] bool may_match(const RangeQuery& query) const { return ever_.meets(query); }

  [[nodiscard]] bool owner_would_change(int before, int after) const {
    const std::set<std::string>& owner = body(before).of("owner");
    return !owner.empty() && owner != body(after).of("owner");
  }

 private:
  [[nodiscard]] const Body& body(int number) const {
    static const Body none;
    return number == absent ? none : bodies_.at(static_cast<std::size_t>(number) - 1);
  }

  std::vector<Body> bodies_;
  Body ever_;  // the values of all of them
  std::vector<std::string> texts_;
  std::map<std::string, int> numbers_;
};

// One operation as it concerns one entity.
struct Event {
  enum class Kind {
    put,           // writes `value`, over `expected` if that is given
    merge,         // merges the operation's text into something
    remove,        // writes nothing over something
    refused,       // saw an owner that a put of `value` would change, in `expected` if that is given
    saw,           // saw `value`
    saw_another,   // saw anything but `expected`
    saw_no_match,  // saw nothing that meets the query, or the matching values in the middle of a change
    saw_a_change,  // saw the entity with different matching values
  };
  Kind kind = Kind::saw;
  int value = absent;
  bool certain = true;  // a write that is not certain need not have happened
  const Operation* operation = nullptr;
  std::optional<int> expected = {};

  [[nodiscard]] bool writes() const { return kind == Kind::put || kind == Kind::merge || kind == Kind::remove; }
  [[nodiscard]] bool may_meet(int found) const { return !expected || *expected == found; }
};

// What the entity may be at a moment, and which of the operations under way have had their moment.
struct State {
  int value = absent;
  std::uint64_t done = 0;  // a bit for each place in Search::open_

  auto operator<=>(const State&) const = default;
};

class Search {
 public:
  Search(Bodies& bodies, std::vector<Event> events, HistoryRules rules)
      : bodies_(bodies), events_(std::move(events)), rules_(rules) {}

  // What cannot be explained; absent if all can.
  std::optional<std::string> run() {
    for (const auto& [time, is_end, event] : moments()) {
      if (!is_end) {
        open(events_[event]);
        continue;
      }
      const std::size_t place = place_of(events_[event]);
      const std::set<State> before = states_;
      end(place);
      if (states_.empty()) {
        return complaint(events_[event], before);
      }
      open_[place] = nullptr;
    }
    return std::nullopt;
  }

 private:
  struct Moment {
    long long time;
    bool is_end;  // starts first: operations that touch are concurrent
    std::size_t event;

    auto operator<=>(const Moment&) const = default;
  };

  [[nodiscard]] std::vector<Moment> moments() const {
    std::vector<Moment> all;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      all.push_back({events_[i].operation->start, false, i});
      all.push_back({events_[i].operation->end, true, i});
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  void open(const Event& event) {
    const auto free = std::find(open_.begin(), open_.end(), nullptr);
    if (free != open_.end()) {
      *free = &event;
    } else if (open_.size() < 64) {
      open_.push_back(&event);
    } else {
      throw std::length_error("more than 64 operations on one entity at once");
    }
  }

  [[nodiscard]] std::size_t place_of(const Event& event) const {
    return static_cast<std::size_t>(std::find(open_.begin(), open_.end(), &event) - open_.begin());
  }

  static std::uint64_t bit(std::size_t place) { return std::uint64_t{1} << place; }

  // Keeps the states in which the event has had its moment, with as many of the writes under way before it as that
  // takes.
  void end(std::size_t place) {
    const Event& event = *open_[place];
    std::set<State> ended, seen = states_;
    std::vector<State> to_do(states_.begin(), states_.end());
    while (!to_do.empty()) {
      const State state = to_do.back();
      to_do.pop_back();
      const bool had_its_moment = (state.done & bit(place)) != 0 || (!event.writes() && saw(event, state.value));
      if (had_its_moment || !event.certain) {
        ended.insert({state.value, state.done & ~bit(place)});
      }
      if (!had_its_moment) {
        for (const State& next : successors(state)) {
          if (seen.insert(next).second) {
            to_do.push_back(next);
          }
        }
      }
    }
    states_ = std::move(ended);
  }

  [[nodiscard]] bool saw(const Event& event, int value) const {
    switch (event.kind) {
      case Event::Kind::saw:
        return value == event.value;
      case Event::Kind::refused:
        return event.may_meet(value) && bodies_.owner_would_change(value, event.value);
      case Event::Kind::saw_another:
        return !event.may_meet(value);
      case Event::Kind::saw_no_match:
        return !bodies_.matches(value, event.operation->query);
      default:
        return false;
    }
  }

  [[nodiscard]] bool saw_change(const Event& event, int from, int to) const {
    const bool any = event.kind == Event::Kind::saw_no_match || event.kind == Event::Kind::saw_a_change;
    return any && bodies_.matching(from, event.operation->query) != bodies_.matching(to, event.operation->query);
  }

  // The states that one write leads to.
  [[nodiscard]] std::vector<State> successors(const State& state) {
    std::vector<State> next;
    for (std::size_t place = 0; place < open_.size(); ++place) {
      const Event* const event = open_[place];
      if (event != nullptr && event->writes() && (state.done & bit(place)) == 0 && can_follow(*event, state.value)) {
        next.push_back(after(state, place));
        if (rules_.connections_break && event->kind == Event::Kind::remove) {
          add_other_removes(next);
        }
      }
    }
    return next;
  }

  [[nodiscard]] bool can_follow(const Event& event, int value) const {
    return event.kind == Event::Kind::put ? event.may_meet(value) && !bodies_.owner_would_change(value, event.value)
                                          : value != absent;
  }

  [[nodiscard]] int value_after(const Event& event, int value) {
    return event.kind == Event::Kind::merge ? bodies_.find_or_add(merged(bodies_.text(value), event.operation->text))
                                            : event.value;
  }

  [[nodiscard]] State after(const State& state, std::size_t place) {
    State next{value_after(*open_[place], state.value), state.done | bit(place)};
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const Event* const event = open_[i];
      if (event != nullptr && !event->writes() &&
          (saw(*event, state.value) || saw_change(*event, state.value, next.value))) {
        next.done |= bit(i);
      }
    }
    return next;
  }

  // Adds to the last state, to which a remove led, those in which other removes under way find that done which they
  // were to do. A put that was overtaken could have come just before, or it is not said to be done.
  void add_other_removes(std::vector<State>& states) const {
    const std::size_t first = states.size() - 1;
    for (std::size_t place = 0; place < open_.size(); ++place) {
      if (open_[place] == nullptr || open_[place]->kind != Event::Kind::remove ||
          (states[first].done & bit(place)) != 0) {
        continue;
      }
      const std::size_t last = states.size();
      for (std::size_t i = first; i < last; ++i) {
        states.push_back({states[i].value, states[i].done | bit(place)});
      }
    }
  }

  [[nodiscard]] std::string complaint(const Event& event, const std::set<State>& before) const {
    std::set<std::string> values, under_way;
    for (const State& state : before) {
      values.insert(bodies_.text(state.value));
    }
    for (const Event* const other : open_) {
      if (other != nullptr && other != &event && other->writes()) {
        under_way.insert(describe(*other));
      }
    }
    return fmt::format("{}\n    possible before: {}\n    writes under way: {}", describe(event),
                       fmt::join(values, " or "), fmt::join(under_way, ", "));
  }

  [[nodiscard]] std::string condition_of(const Event& event) const {
    return event.expected ? " over " + bodies_.text(*event.expected) : std::string();
  }

  [[nodiscard]] std::string describe(const Event& event) const {
    const Operation& operation = *event.operation;
    const auto& query = operation.query;
    const std::string conditions = fmt::format("{} {}..{}", query.index, query.from, query.to);
    const std::string when = fmt::format("{} ({}..{})", operation.name, operation.start, operation.end);
    switch (event.kind) {
      case Event::Kind::put:
        return fmt::format("{} put {}{}", when, bodies_.text(event.value), condition_of(event));
      case Event::Kind::merge:
        return fmt::format("{} merged {}", when, operation.text);
      case Event::Kind::remove:
        return fmt::format("{} removed the entity", when);
      case Event::Kind::refused:
        return fmt::format("{} was rejected, putting {}", when, bodies_.text(event.value));
      case Event::Kind::saw_another:
        return fmt::format("{} was refused{}", when, condition_of(event));
      case Event::Kind::saw:
        return fmt::format("{} read {}", when, bodies_.text(event.value));
      case Event::Kind::saw_no_match:
        return fmt::format("{} missed the entity in {}", when, conditions);
      case Event::Kind::saw_a_change:
        return fmt::format("{} gave the entity twice in {}", when, conditions);
    }
    return when;
  }

  Bodies& bodies_;
  const std::vector<Event> events_;
  const HistoryRules rules_;
  std::vector<const Event*> open_;  // by place; null where one is free
  std::set<State> states_ = {State()};
};

struct EntityHistory {
  Bodies bodies;
  std::vector<Event> events;
  bool has_merges = false;  // so texts exist that were not put
};

class Check {
 public:
  Check(const std::vector<Operation>& history, HistoryRules rules) : history_(history), rules_(rules) {}

  std::vector<std::string> run() {
    for (const Operation& operation : history_) {
      if (operation.action == Action::put) {
        const int value = entities_[operation.id].bodies.add(operation.text);
        add_put(operation, value);
      } else if (operation.action == Action::merge) {
        entities_[operation.id].bodies.expect_values(operation.text);
        entities_[operation.id].has_merges = true;
        add_change(operation, Event::Kind::merge);
      } else if (operation.action == Action::remove) {
        add_change(operation, Event::Kind::remove);
      }
    }
    for (const Operation& operation : history_) {
      if (operation.expected) {
        resolve_condition(operation);
      }
    }
    for (const Operation& operation : history_) {
      if (operation.outcome != Outcome::done) {
        continue;
      }
      if (operation.action == Action::get) {
        add_read(operation, operation.id, operation.text);
      } else if (operation.action == Action::query) {
        add_query(operation);
      }
    }
    for (auto& [id, entity] : entities_) {
      leave_out_what_may_be_forgotten(entity.events);
      if (const auto complaint = Search(entity.bodies, std::move(entity.events), rules_).run()) {
        complaints_.push_back(fmt::format("no order of the writes of {} explains it: {}", id, *complaint));
      }
    }
    for (WrongKey& key : wrong_keys(history_, "key")) {
      complaints_.push_back(std::move(key.sentence));
    }
    return std::move(complaints_);
  }

 private:
  void add_put(const Operation& operation, int value) {
    if (operation.outcome == Outcome::rejected) {
      if (operation.holder.empty()) {
        add(operation.id, {Event::Kind::refused, value, true, &operation});
      }
    } else if (operation.outcome == Outcome::refused) {
      add(operation.id, {Event::Kind::saw_another, value, true, &operation});
    } else if (operation.outcome != Outcome::failed) {
      add(operation.id, {Event::Kind::put, value, operation.outcome == Outcome::done, &operation});
    }
  }

  // A remove or a merge.
  void add_change(const Operation& operation, Event::Kind kind) {
    if (operation.outcome == Outcome::not_found) {
      add(operation.id, {Event::Kind::saw, absent, true, &operation});
    } else if (operation.outcome != Outcome::failed) {
      add(operation.id, {kind, absent, operation.outcome == Outcome::done, &operation});
    }
  }

  // A put may expect a text that comes later in the history, or from a merge.
  void resolve_condition(const Operation& operation) {
    EntityHistory& entity = entities_[operation.id];
    for (Event& event : entity.events) {
      if (event.operation == &operation) {
        event.expected = entity.bodies.find_or_add(*operation.expected);
      }
    }
  }

  // Absent for a text that nobody can have written.
  std::optional<int> number_of(const std::string& id, const std::string& text) {
    EntityHistory& entity = entities_[id];
    return entity.has_merges ? entity.bodies.find_or_add(text) : entity.bodies.number_of(text);
  }

  void add_read(const Operation& operation, const std::string& id, const std::string& text) {
    if (const auto value = number_of(id, text)) {
      add(id, {Event::Kind::saw, *value, true, &operation});
    } else {
      complaints_.push_back(fmt::format("{} read of {} what nobody put: {}", operation.name, id, text));
    }
  }

  void add_query(const Operation& operation) {
    std::map<std::string, int> times;
    for (const auto& [id, text] : operation.found) {
      add_read(operation, id, text);
      const auto value = number_of(id, text);
      if (value && !entities_[id].bodies.matches(*value, operation.query)) {
        complaints_.push_back(
            fmt::format("{} gave {}, which does not meet its conditions: {}", operation.name, id, text));
      }
      if (++times[id] > 1) {
        add_repetition(operation, id);
      }
    }
    for (auto& [id, entity] : entities_) {
      if (!times.contains(id) && entity.bodies.may_match(operation.query)) {
        add(id, {Event::Kind::saw_no_match, absent, true, &operation});
      }
    }
  }

  void add_repetition(const Operation& operation, const std::string& id) {
    if (operation.query.is_equality()) {
      complaints_.push_back(fmt::format("{} gave {} twice for one value", operation.name, id));
    } else {
      add(id, {Event::Kind::saw_a_change, absent, true, &operation});
    }
  }

  // Leaves out the reads before a server's death that may have seen something of a write that was under way then.
  void leave_out_what_may_be_forgotten(std::vector<Event>& events) const {
    if (!rules_.killed) {
      return;
    }
    const auto [killed, dead] = *rules_.killed;
    constexpr long long longest_sync = 1'000'000'000;  // ns from when a commit is seen until it is on disk
    long long first = Operation::never;                // of these writes
    for (const Event& event : events) {
      const Operation& operation = *event.operation;
      const bool is_read = operation.action == Action::get || operation.action == Action::query;
      if (!is_read && operation.start < dead && operation.end > killed) {
        first = std::min(first, operation.start);
      }
    }
    std::erase_if(events, [&, killed = killed, dead = dead](const Event& event) {
      const Operation& operation = *event.operation;
      const bool is_read = operation.action == Action::get || operation.action == Action::query;
      return is_read && operation.start < dead && operation.end > std::max(first, killed - longest_sync);
    });
  }

  void add(const std::string& id, const Event& event) { entities_[id].events.push_back(event); }

  const std::vector<Operation>& history_;
  const HistoryRules rules_;
  std::map<std::string, EntityHistory> entities_;
  std::vector<std::string> complaints_;
};

}  // namespace

std::vector<std::string> unexplained(const std::vector<Operation>& history, HistoryRules rules) {
  return Check(history, rules).run();
}

}  // namespace looseleaf::test

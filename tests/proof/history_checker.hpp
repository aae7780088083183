// Whether a recorded history of concurrent reads and writes has an explanation: some order of the writes, each at one
// moment between its start and its end, in which every get and every query saw what it says.
//
// Entities have a `color` (index_color), an `owner` (index_owner, immutable) and `tags` (index_tags, a row for each).
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf::test {

// A query for the entities of which some value of `property` is not before `from` and not after `to`.
struct RangeQuery {
  std::string index, property, from, to;

  [[nodiscard]] bool is_equality() const { return from == to; }
};

enum class Action { put, remove, get, query };

enum class Outcome {
  done,       // a write is durable, a read was answered
  not_found,  // a remove, of nothing
  rejected,   // a put that would have changed an immutable property
  failed,     // a write without effect, a read without an answer
  unknown,    // nobody was told: a write took effect at one moment before its end, or never will
};

struct Operation {
  static constexpr long long never = std::numeric_limits<long long>::max();

  std::string name;                  // for messages
  long long start = 0, end = never;  // on one clock; operations that touch each other are concurrent
  Action action = Action::get;
  Outcome outcome = Outcome::unknown;
  std::string id;    // of a put, remove or get
  std::string text;  // of a put, or what a get found, empty if nothing; no text may be put twice
  RangeQuery query;
  std::vector<std::pair<std::string, std::string>> found;  // by a query: ids and texts
};

struct HistoryRules {
  // A remove whose connection broke in the middle of its COMMIT, and which then finds the entity removed, is
  // acknowledged: it may count as done at the same moment as another remove, without effect.
  bool connections_break = false;
};

// What has no explanation, a sentence each; at most one about the order of one entity's operations.
[[nodiscard]] std::vector<std::string> unexplained(const std::vector<Operation>& history, HistoryRules rules = {});

}  // namespace looseleaf::test

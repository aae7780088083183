// Whether a recorded history of concurrent reads and writes has an explanation: some order of the writes, each at one
// moment between its start and its end, in which every get and every query saw what it says.
//
// Entities have a `color` (index_color), an `owner` (index_owner, immutable), a `key` (index_key, unique) and `tags`
// (index_tags, a row for each). The entities have one order of writes each; about keys see history_keys.hpp.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf::test {

// A query for the entities of which some value of `property` is not before `from` and not after `to`.
struct RangeQuery {
  std::string index, property, from, to;

  [[nodiscard]] bool is_equality() const { return from == to; }
};

enum class Action { put, remove, get, query, merge };

enum class Outcome {
  done,       // a write is durable, a read was answered
  not_found,  // a remove of nothing, or a merge into nothing
  rejected,   // a put that would have changed an immutable property, or whose key another entity had
  failed,     // a write without effect, a read without an answer
  unknown,    // nobody was told: a write took effect at one moment before its end, or never will
  refused,    // a put whose condition did not hold
};

struct Operation {
  static constexpr long long never = std::numeric_limits<long long>::max();

  std::string name;                  // for messages
  long long start = 0, end = never;  // on one clock; operations that touch each other are concurrent
  Action action = Action::get;
  Outcome outcome = Outcome::unknown;
  std::string id;  // of a put, merge, remove or get
  // Of a put or merge, or what a get found, empty if nothing. No text may be put twice, and no text of a merge may have
  // an `owner` or a `key`.
  std::string text;
  RangeQuery query;
  std::vector<std::pair<std::string, std::string>> found;  // by a query: ids and texts
  // Of a put with a condition: the text that the entity must have; empty if it must be absent.
  std::optional<std::string> expected = {};
  std::string holder = {};  // of a put that was rejected because of its key: the id of the entity that had it
};

struct HistoryRules {
  // A remove whose connection broke in the middle of its COMMIT, and which then finds the entity removed, is
  // acknowledged: it may count as done at the same moment as another remove, without effect.
  bool connections_break = false;
  // When a server was killed, and when it was dead for certain. A server shows a commit to others a moment before it is
  // on disk. So what a read saw of a write that was under way when the server died may be forgotten, or come again.
  std::optional<std::pair<long long, long long>> killed = {};
};

// What has no explanation, a sentence each; at most one about the order of one entity's operations.
[[nodiscard]] std::vector<std::string> unexplained(const std::vector<Operation>& history, HistoryRules rules = {});

}  // namespace looseleaf::test

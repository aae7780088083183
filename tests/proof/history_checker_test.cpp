// The checker of histories accepts what can happen and rejects every kind of fault that it is there for.
#include "tests/proof/history_checker.hpp"

#include <doctest/doctest.h>

namespace looseleaf::test {
namespace {

const RangeQuery red = {"index_color", "color", "red", "red"};
const RangeQuery any_color = {"index_color", "color", "a", "z"};

std::string text(const std::string& color, const std::string& more = {}) {
  return R"({"color":")" + color + "\"" + more + "}";
}

std::string owned(const std::string& owner, int version = 0) {
  return R"({"owner":")" + owner + R"(","v":")" + std::to_string(version) + "\"}";
}

// Operations on one entity, unless another is named; the two numbers are its start and its end.
class History {
 public:
  // What follows is done to that entity.
  History& of(const std::string& id) {
    id_ = id;
    return *this;
  }
  History& put(long long start, long long end, const std::string& written, Outcome outcome = Outcome::done,
               const std::string& holder = {}) {
    Operation& operation = add(Action::put, start, end, outcome);
    operation.text = written;
    operation.holder = holder;
    return *this;
  }
  History& put_over(long long start, long long end, const std::string& expected, const std::string& written,
                    Outcome outcome = Outcome::done) {
    Operation& operation = add(Action::put, start, end, outcome);
    operation.text = written;
    operation.expected = expected;
    return *this;
  }
  History& merge(long long start, long long end, const std::string& changes, Outcome outcome = Outcome::done) {
    add(Action::merge, start, end, outcome).text = changes;
    return *this;
  }
  History& remove(long long start, long long end, Outcome outcome = Outcome::done) {
    add(Action::remove, start, end, outcome);
    return *this;
  }
  History& get(long long start, long long end, const std::string& found) {
    add(Action::get, start, end, Outcome::done).text = found;
    return *this;
  }
  History& query(long long start, long long end, const RangeQuery& query, const std::vector<std::string>& found) {
    Operation& operation = add(Action::query, start, end, Outcome::done);
    operation.query = query;
    for (const std::string& one : found) {
      operation.found.emplace_back("e", one);
    }
    return *this;
  }

  [[nodiscard]] bool good(HistoryRules rules = {}) const { return unexplained(operations_, rules).empty(); }
  [[nodiscard]] std::string complaint() const {
    const auto complaints = unexplained(operations_);
    return complaints.size() == 1 ? complaints.front() : std::to_string(complaints.size()) + " complaints";
  }

 private:
  Operation& add(Action action, long long start, long long end, Outcome outcome) {
    operations_.push_back(
        {"operation " + std::to_string(operations_.size()), start, end, action, outcome, id_, {}, {}, {}});
    return operations_.back();
  }

  std::string id_ = "e";
  std::vector<Operation> operations_;
};

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("writes and reads one after another are explained by their order") {
  CHECK(History().good());
  CHECK(History()
            .get(1, 2, "")
            .remove(3, 4, Outcome::not_found)
            .put(5, 6, text("red"))
            .get(7, 8, text("red"))
            .query(9, 10, red, {text("red")})
            .put(11, 12, text("blue"))
            .query(13, 14, red, {})
            .remove(15, 16)
            .get(17, 18, "")
            .good());
}

TEST_CASE("a put with a condition is done over what it expects, and refused over anything else") {
  const std::string red_text = text("red"), blue_text = text("blue"), green_text = text("green");
  CHECK(History()
            .put_over(1, 2, "", red_text)
            .put_over(3, 4, "", blue_text, Outcome::refused)
            .put_over(5, 6, red_text, green_text)
            .get(7, 8, green_text)
            .good());
  // Two that both found the entity absent, one after the other or at once.
  CHECK_FALSE(History().put_over(1, 2, "", red_text).put_over(3, 4, "", blue_text).good());
  CHECK_FALSE(History().put_over(1, 3, "", red_text).put_over(2, 4, "", blue_text).good());
  // A lost update.
  CHECK_FALSE(
      History().put(1, 2, red_text).put_over(3, 6, red_text, blue_text).put_over(4, 5, red_text, green_text).good());
  // Refused although nothing else was there, which happens if a commit in doubt is repeated.
  CHECK_FALSE(History().put_over(1, 2, "", red_text, Outcome::refused).good());
  CHECK_FALSE(History().put_over(1, 2, "", red_text, Outcome::refused).get(3, 4, red_text).good());
  // Acknowledged although it was overtaken and never done.
  CHECK_FALSE(History().put_over(1, 4, "", red_text).put(2, 3, blue_text).put_over(5, 6, red_text, green_text).good());
  CHECK(History().put_over(1, 4, "", red_text, Outcome::unknown).put(2, 3, blue_text).get(5, 6, blue_text).good());
  CHECK(mentions(History().put_over(1, 2, "", red_text).put_over(3, 4, "", blue_text).complaint(), "over nothing"));
}

TEST_CASE("two entities never have one key, and a put that is rejected names an entity that had it") {
  const std::string ann = R"({"key":"ann"})", ann_again = R"({"key":"ann","v":"2"})";
  CHECK(History().put(1, 2, ann).of("f").put(3, 4, ann, Outcome::rejected, "e").good());
  CHECK(History().put(1, 2, ann).put(3, 4, text("red")).of("f").put(5, 6, ann).good());
  CHECK(mentions(History().put(1, 2, ann).of("f").put(3, 4, ann).complaint(), "e and f had the key ann at 4"));
  CHECK_FALSE(History().put(1, 2, ann).remove(5, 6).of("f").put(3, 4, ann).good());
  // It may have been given up, but was not, or was taken up again.
  CHECK_FALSE(History().put(1, 2, ann).put(3, 4, text("red"), Outcome::failed).of("f").put(5, 6, ann).good());
  CHECK_FALSE(History().put(1, 2, ann).put(3, 4, text("red")).put(5, 6, ann_again).of("f").put(7, 8, ann).good());
  CHECK(History().put(1, 2, ann).remove(3, 4, Outcome::unknown).of("f").put(5, 6, ann).good());
  CHECK(History().put(1, 2, ann, Outcome::unknown).of("f").put(5, 6, ann).good());
  // At the same time.
  CHECK(History().put(1, 2, ann).remove(3, 6).of("f").put(4, 5, ann).good());
  CHECK(History().put(1, 2, ann).remove(3, 6).of("f").put(4, 5, ann, Outcome::rejected, "e").good());
  // Acknowledged although it was overtaken and never done.
  CHECK_FALSE(History().put(1, 2, ann).of("f").put(3, 6, ann).put(4, 5, text("red")).good());
  CHECK(History().put(1, 2, ann).of("f").put(3, 6, ann, Outcome::unknown).put(4, 5, text("red")).good());
  CHECK_FALSE(History().of("f").put(1, 8, ann).of("e").put(2, 3, ann).of("f").put(4, 5, text("red")).good());
  // A get that found it tells as much as a put.
  CHECK_FALSE(History().put(1, 8, ann).put(2, 7, text("red")).get(9, 10, ann).of("f").put(11, 12, ann).good());
  // The holder never had it, gave it up before, or took it afterwards.
  CHECK(mentions(History().of("f").put(3, 4, ann, Outcome::rejected, "e").complaint(), "because of e"));
  CHECK_FALSE(History().put(1, 2, text("red")).of("f").put(3, 4, ann, Outcome::rejected, "e").good());
  CHECK_FALSE(History().put(1, 2, ann).remove(3, 4).of("f").put(5, 6, ann, Outcome::rejected, "e").good());
  CHECK_FALSE(History().put(5, 6, ann).of("f").put(1, 2, ann, Outcome::rejected, "e").good());
}

TEST_CASE("merges of several writers are all there, in some order") {
  const std::string red_text = text("red");
  CHECK(History()
            .put(1, 2, red_text)
            .merge(3, 6, R"({"a":"1"})")
            .merge(4, 5, R"({"b":"2"})")
            .get(7, 8, R"({"color":"red","b":"2","a":"1"})")
            .good());
  CHECK(History().merge(1, 2, R"({"a":"1"})", Outcome::not_found).good());
  CHECK_FALSE(History().merge(1, 2, R"({"a":"1"})").good());
  CHECK_FALSE(History()
                  .put(1, 2, red_text)
                  .merge(3, 6, R"({"a":"1"})")
                  .merge(4, 5, R"({"b":"2"})")
                  .get(7, 8, R"({"color":"red","b":"2"})")  // a lost update
                  .good());
  CHECK_FALSE(History().put(1, 2, red_text).merge(3, 4, R"({"a":"1"})").get(5, 6, R"({"color":"red"})").good());
}

TEST_CASE("a read beside a write may see the entity before or after it, but not back and forth") {
  const auto beside = [](const std::string& first, const std::string& second) {
    return History().put(1, 2, text("red")).put(3, 10, text("blue")).get(4, 5, first).get(6, 7, second).good();
  };
  CHECK(beside(text("red"), text("red")));
  CHECK(beside(text("red"), text("blue")));
  CHECK(beside(text("blue"), text("blue")));
  CHECK_FALSE(beside(text("blue"), text("red")));
}

TEST_CASE("two writes at once may take effect in either order, which all readers agree on") {
  const auto then = [](const std::string& first, const std::string& last) {
    return History().put(1, 10, text("red")).put(2, 9, text("blue")).get(11, 12, first).get(13, 14, last).good();
  };
  CHECK(then(text("red"), text("red")));
  CHECK(then(text("blue"), text("blue")));
  CHECK_FALSE(then(text("red"), text("blue")));
  CHECK_FALSE(then("", ""));
}

TEST_CASE("a lost write is found") {
  const History history = History().put(1, 2, text("red")).get(3, 4, "");
  CHECK(mentions(history.complaint(), "operation 1 (3..4) read nothing"));
  CHECK_FALSE(History().put(1, 2, text("red")).put(3, 4, text("blue")).get(5, 6, text("red")).good());
  CHECK_FALSE(History().put(1, 2, text("red")).remove(3, 4).get(5, 6, text("red")).good());
  CHECK_FALSE(History().put(1, 2, text("red")).remove(3, 4, Outcome::not_found).good());
}

TEST_CASE("a stale read is found") {
  CHECK_FALSE(
      History().put(1, 2, text("red")).put(3, 4, text("blue")).get(5, 6, text("blue")).get(7, 8, text("red")).good());
  CHECK_FALSE(History().put(1, 2, text("red")).put(3, 8, text("blue")).get(4, 5, text("blue")).get(6, 7, "").good());
}

TEST_CASE("an acknowledged write that a replay of another one undid is found") {
  CHECK_FALSE(History()
                  .put(1, 20, text("red"))
                  .get(2, 3, text("red"))
                  .put(4, 5, text("blue"))
                  .get(6, 7, text("blue"))
                  .get(8, 9, text("red"))
                  .good());
}

TEST_CASE("a read of what nobody put is found, and of what was refused or has failed") {
  CHECK(mentions(History().put(1, 2, text("red")).get(3, 4, text("green")).complaint(), "what nobody put"));
  CHECK_FALSE(History().put(1, 2, text("red"), Outcome::failed).get(3, 4, text("red")).good());
  CHECK_FALSE(
      History().put(1, 2, owned("ann")).put(3, 4, owned("bob"), Outcome::rejected).get(5, 6, owned("bob")).good());
  CHECK_FALSE(History().get(1, 2, text("red")).put(3, 4, text("red")).good());
}

TEST_CASE("a write of unknown outcome took effect once, before its end, or never") {
  const auto read = [](const std::string& first, const std::string& second, const std::string& third) {
    return History()
        .put(1, 2, text("red"))
        .put(3, 20, text("blue"), Outcome::unknown)
        .get(4, 5, first)
        .get(18, 19, second)
        .get(21, 22, third)
        .good();
  };
  CHECK(read(text("red"), text("red"), text("red")));
  CHECK(read(text("red"), text("red"), text("blue")));
  CHECK(read(text("red"), text("blue"), text("blue")));
  CHECK(read(text("blue"), text("blue"), text("blue")));
  CHECK_FALSE(read(text("blue"), text("red"), text("red")));
  CHECK_FALSE(read(text("red"), text("blue"), text("red")));
  CHECK_FALSE(History()
                  .put(1, 2, text("red"))
                  .put(3, 6, text("blue"), Outcome::unknown)
                  .get(7, 8, text("red"))
                  .get(9, 10, text("blue"))
                  .good());
}

TEST_CASE("a query that misses an entity is found") {
  const History missed = History().put(1, 2, text("red")).query(3, 4, red, {});
  CHECK(mentions(missed.complaint(), "missed the entity in index_color"));
  CHECK_FALSE(History().put(1, 2, text("red", R"(,"v":1)")).put(3, 9, text("red")).query(4, 5, red, {}).good());
  CHECK(History().put(1, 2, text("red")).put(3, 9, text("blue")).query(4, 5, red, {}).good());
  CHECK(History().put(1, 5, text("red")).query(4, 6, red, {}).good());
}

TEST_CASE("a query of a range may miss an entity only while its matching values change") {
  CHECK_FALSE(History().put(1, 2, text("red")).put(3, 4, text("blue")).query(5, 6, any_color, {}).good());
  CHECK(History().put(1, 2, text("red")).put(3, 9, text("blue")).query(4, 5, any_color, {}).good());
  CHECK_FALSE(History().put(1, 2, text("red")).put(3, 9, text("red", R"(,"v":1)")).query(4, 5, any_color, {}).good());
}

TEST_CASE("a query that gives an entity twice is found") {
  CHECK_FALSE(History().put(1, 2, text("red")).query(3, 4, red, {text("red"), text("red")}).good());
  CHECK_FALSE(History().put(1, 2, text("red")).query(3, 4, any_color, {text("red"), text("red")}).good());
  CHECK(History()
            .put(1, 2, text("blue"))
            .put(3, 9, text("red"))
            .query(4, 8, any_color, {text("blue"), text("red")})
            .good());
}

TEST_CASE("what a query gives must meet its conditions and have been there while it ran") {
  CHECK_FALSE(History().put(1, 2, text("blue")).query(3, 4, red, {text("blue")}).good());
  CHECK_FALSE(History().put(1, 2, text("red")).put(3, 4, text("blue")).query(5, 6, red, {text("red")}).good());
  CHECK_FALSE(History().query(1, 2, red, {text("red")}).put(3, 4, text("red")).good());
}

TEST_CASE("each value of an array counts on its own") {
  const RangeQuery a = {"index_tags", "tags", "a", "a"};
  CHECK(History().put(1, 2, R"({"tags":["b","a"]})").query(3, 4, a, {R"({"tags":["b","a"]})"}).good());
  CHECK_FALSE(History().put(1, 2, R"({"tags":["b","a"]})").query(3, 4, a, {}).good());
  CHECK(History().put(1, 2, R"({"tags":["b"]})").query(3, 4, a, {}).good());
}

TEST_CASE("an owner never changes, and only what would change it is rejected") {
  const auto second = [](const std::string& written, Outcome outcome) {
    return History().put(1, 2, owned("ann")).put(3, 4, written, outcome).good();
  };
  CHECK(second(owned("ann", 1), Outcome::done));
  CHECK(second(owned("bob"), Outcome::rejected));
  CHECK_FALSE(second(owned("bob"), Outcome::done));
  CHECK_FALSE(second(owned("ann", 1), Outcome::rejected));
  CHECK(second(text("red"), Outcome::rejected));
  CHECK(History().put(1, 2, owned("ann")).remove(3, 4).put(5, 6, owned("bob")).good());
  CHECK(History().put(1, 9, owned("ann")).put(2, 8, owned("bob"), Outcome::rejected).good());
}

TEST_CASE("what a read saw of a write under way may be forgotten only if a server died meanwhile") {
  const HistoryRules rules = {.killed = std::pair(10LL, 12LL)};
  const auto forgotten = [](long long end, long long read) {
    return History()
        .put(1, 2, text("red"))
        .put(5, end, text("blue"))
        .get(read, read + 1, text("blue"))
        .get(14, 15, text("red"));
  };
  CHECK_FALSE(forgotten(20, 7).good());
  CHECK(forgotten(20, 7).good(rules));
  CHECK_FALSE(forgotten(9, 7).good(rules));    // it was acknowledged before
  CHECK_FALSE(forgotten(20, 12).good(rules));  // the server that answered is another one
}

TEST_CASE("only if connections break may two be told that they removed an entity, and one that put it never") {
  const HistoryRules rules = {.connections_break = true};
  const History owners = History().put(1, 9, owned("ann")).put(2, 8, owned("bob")).get(10, 11, owned("bob"));
  CHECK_FALSE(owners.good());
  CHECK_FALSE(owners.good(rules));
  const History removes = History().put(1, 2, text("red")).remove(3, 9).remove(4, 8).get(10, 11, "");
  CHECK_FALSE(removes.good());
  CHECK(removes.good(rules));
  CHECK_FALSE(History().put(1, 2, owned("ann")).put(3, 4, owned("bob")).good(rules));
  CHECK_FALSE(History().put(1, 2, text("red")).get(3, 4, "").good(rules));
}

}  // namespace
}  // namespace looseleaf::test

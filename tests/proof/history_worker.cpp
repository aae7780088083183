// A process that writes to a store and reads it through the public interface, and records every operation.
//
//   history_worker CLUSTER_FILE RECORD_FILE NAME [NEXT_CLUSTER_FILE]
//
// When it is told that the store has moved, it goes on in the next cluster.
//
// It follows the lines of its standard input, whose parts are separated by tabs:
//   put ID TEXT, put_if_absent ID TEXT, remove ID, get ID, query INDEX PROPERTY FROM TO
//                                         does that
//   meet MINE OTHER                       waits until the worker that does `meet OTHER MINE` has come as often; the
//                                         names are of files
//   random SEED OPERATIONS ORIGIN         random ones, from several threads, at least so many, and until the worker is
//                                         in the last cluster; ORIGIN is a time of the monotonic clock
//   crash SEED COUNT                      puts and removes some of the crash rounds' entities 0 to COUNT - 1 at a time,
//                                         until SIGTERM
// No two workers have one NAME: it makes what they put unique.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <looseleaf/datastore.hpp>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/proof/crash_history.hpp"
#include "tests/proof/history_record.hpp"

namespace looseleaf::test {
namespace {

Outcome outcome_of(WriteStatus status) {
  switch (status) {
    case WriteStatus::stored:
      return Outcome::done;
    case WriteStatus::not_found:
      return Outcome::not_found;
    case WriteStatus::rejected:
      return Outcome::rejected;
    case WriteStatus::exists:
    case WriteStatus::changed:
      return Outcome::refused;
    case WriteStatus::buffered:
      throw std::logic_error("nothing is to be buffered");
    case WriteStatus::unchanged:
      throw std::logic_error("every text is a new one");
    case WriteStatus::failed:
      return Outcome::failed;
    case WriteStatus::unknown:
      break;
  }
  return Outcome::unknown;
}

Query to_query(const RangeQuery& range) {
  Query query;
  query.index = range.index;
  if (range.is_equality()) {
    query.conditions = {{range.property, Operator::equal, range.from}};
  } else {
    query.conditions = {{range.property, Operator::greater_equal, range.from},
                        {range.property, Operator::less_equal, range.to}};
  }
  return query;
}

void complain(const std::string& name, const Error& error) {
  std::string text = name + ": " + error.what();
  for (const auto& [key, value] : error.context()) {
    text += fmt::format(", {}: {}", key, value);
  }
  std::cerr << text + "\n";
}

using Random = std::mt19937_64;

int below(Random& random, int end) {
  return static_cast<int>(random() % static_cast<unsigned>(end));
}

struct NewText {
  std::string id, text;
};

// Does operations and records them.
class Client {
 public:
  Client(const std::vector<std::string>& clusters, const std::string& records, std::string name)
      : recorder_(records), name_(std::move(name)) {
    for (const std::string& cluster : clusters) {
      datastores_.push_back(Datastore::open(Cluster::load(cluster)));
    }
  }

  // Differs each time, and from that of other workers.
  [[nodiscard]] std::string unique() { return fmt::format("{}.{}", name_, ++uniques_); }
  [[nodiscard]] bool is_in_last_cluster() const { return current_ + 1 == datastores_.size(); }

  // Several are put, removed or read by one call of the library, as operations that begin and end together.
  void put(const std::vector<NewText>& entities) {
    const std::vector<int> numbers = start_all(Action::put, entities);
    const std::size_t cluster = current_;
    end(cluster, numbers, datastores_[cluster].put(texts_of(entities)));
  }

  void put_if_absent(const std::vector<NewText>& entities) {
    const std::vector<int> numbers = start_all(Action::put, entities, "");
    const std::size_t cluster = current_;
    end(cluster, numbers, datastores_[cluster].put(texts_of(entities), {WriteCondition::Kind::absent}));
  }

  void merge(const std::vector<NewText>& changes) {
    const std::vector<int> numbers = start_all(Action::merge, changes);
    const std::size_t cluster = current_;
    end(cluster, numbers, datastores_[cluster].merge(texts_of(changes)));
  }

  // Each call of `make_text` is a put over the text that it was called with. If there is another call, the put before
  // it was refused.
  void update(const std::string& id, const std::function<std::string()>& make_text) {
    std::optional<int> number;
    const std::size_t cluster = current_;
    const WriteResult result = datastores_[cluster].update(Uuid::parse(id).value(), [&](const std::string& before) {
      if (number) {
        recorder_.end(*number, Outcome::refused);
      }
      std::string text = make_text();
      number = start(Action::put, id, text, before);
      return text;
    });
    if (number && result.status == WriteStatus::not_found) {
      recorder_.end(*number, Outcome::refused);
    } else if (number) {
      end(cluster, {*number}, {result});
    }
  }

  void remove(const std::vector<std::string>& ids) {
    const std::vector<int> numbers = start_all(Action::remove, ids);
    const std::size_t cluster = current_;
    end(cluster, numbers, datastores_[cluster].remove(parse(ids)));
  }

  void get(const std::vector<std::string>& ids) {
    const std::vector<int> numbers = start_all(Action::get, ids);
    const std::size_t cluster = current_;
    try {
      const auto found = datastores_[cluster].get(parse(ids));
      for (std::size_t i = 0; i < ids.size(); ++i) {
        recorder_.end(numbers[i], Outcome::done, found[i] ? std::vector{found[i]->json} : std::vector<std::string>());
      }
    } catch (const Error& error) {
      fail(cluster, numbers, error);
    }
  }

  void query(const RangeQuery& range) {
    Operation operation;
    operation.action = Action::query;
    operation.query = range;
    const int number = recorder_.start(operation);
    const std::size_t cluster = current_;
    try {
      std::vector<std::string> found;
      datastores_[cluster].query(to_query(range), [&](const Entity& entity) {
        found.push_back(to_string(entity.id));
        found.push_back(entity.json);
        return true;
      });
      recorder_.end(number, Outcome::done, found);
    } catch (const Error& error) {
      fail(cluster, {number}, error);
    }
  }

 private:
  int start(Action action, const std::string& id, const std::string& text = {},
            const std::optional<std::string>& expected = {}) {
    Operation operation;
    operation.action = action;
    operation.id = id;
    operation.text = text;
    operation.expected = expected;
    return recorder_.start(operation);
  }

  std::vector<int> start_all(Action action, const std::vector<NewText>& entities,
                             const std::optional<std::string>& expected = {}) {
    std::vector<int> numbers;
    for (const NewText& entity : entities) {
      numbers.push_back(start(action, entity.id, entity.text, expected));
    }
    return numbers;
  }

  static std::vector<std::string> texts_of(const std::vector<NewText>& entities) {
    std::vector<std::string> texts;
    for (const NewText& entity : entities) {
      texts.push_back(entity.text);
    }
    return texts;
  }

  std::vector<int> start_all(Action action, const std::vector<std::string>& ids) {
    std::vector<int> numbers;
    for (const std::string& id : ids) {
      numbers.push_back(start(action, id));
    }
    return numbers;
  }

  void end(std::size_t cluster, const std::vector<int>& numbers, const std::vector<WriteResult>& results) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto& holder = results[i].holder;
      recorder_.end(numbers[i], outcome_of(results[i].status),
                    holder ? std::vector{to_string(*holder)} : std::vector<std::string>());
      if (results[i].error && results[i].status != WriteStatus::rejected) {
        take(cluster, *results[i].error);
      }
    }
  }

  void fail(std::size_t cluster, const std::vector<int>& numbers, const Error& error) {
    for (const int number : numbers) {
      recorder_.end(number, Outcome::failed);
    }
    take(cluster, error);
  }

  // What comes next goes to the next cluster if the store has moved there.
  void take(std::size_t cluster, const Error& error) {
    if (error.code() == ErrorCode::moved && cluster + 1 < datastores_.size()) {
      current_ = cluster + 1;
    } else {
      complain(name_, error);
    }
  }

  static std::vector<Uuid> parse(const std::vector<std::string>& ids) {
    std::vector<Uuid> parsed;
    for (const std::string& id : ids) {
      parsed.push_back(Uuid::parse(id).value());
    }
    return parsed;
  }

  std::vector<Datastore> datastores_;
  std::atomic<std::size_t> current_{0};
  Recorder recorder_;
  const std::string name_;
  std::atomic<int> uniques_{0};
};

// Entities come in families. Those of family 0 are always there; those of the others are new ones, all workers turning
// to the next family at the same time. Values begin with their family, so that a query is about one family alone.
class RandomTraffic {
 public:
  RandomTraffic(Client& client, std::uint64_t seed, int operations, long long origin)
      : client_(client), seed_(seed), left_(operations), origin_(origin) {}

  void run() {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < writers + readers; ++thread) {
      threads.emplace_back([this, thread] {
        Random random(seed_ * (writers + readers) + thread);
        while (left_ > 0 || !client_.is_in_last_cluster()) {
          thread < writers ? write(random) : read(random);
        }
      });
    }
  }

 private:
  static constexpr unsigned writers = 4, readers = 1;
  static constexpr int family_size = 6;
  static constexpr long long family_time = 2'000'000'000;

  template <typename List>
  static auto pick(Random& random, const List& list) {
    return list[static_cast<std::size_t>(below(random, static_cast<int>(std::size(list))))];
  }

  [[nodiscard]] int pick_family(Random& random) const {
    const auto young = static_cast<int>((monotonic_now() - origin_) / family_time) + 1;
    return below(random, 3) == 0 ? young : 0;
  }

  static std::string pick_id(Random& random, int family) {
    return fmt::format("{:032x}", family * 16 + below(random, family_size));
  }

  static std::string value(int family, std::string_view word) { return fmt::format("{:04} {}", family, word); }

  void write(Random& random) {
    const int family = pick_family(random);
    std::vector<std::string> ids = pick_ids(random, family, 3);
    left_ -= static_cast<int>(ids.size());
    if (below(random, 5) == 0) {
      client_.remove(ids);
      return;
    }
    const int kind = below(random, 8);
    if (kind == 0) {
      client_.update(ids.front(), [&] { return text(random, family, ids.front()); });
      return;
    }
    std::vector<NewText> entities;
    for (const std::string& id : ids) {
      entities.push_back({id, kind == 1 ? change(random, family, id) : text(random, family, id)});
    }
    kind == 1 ? client_.merge(entities) : kind == 2 ? client_.put_if_absent(entities) : client_.put(entities);
  }

  // For a merge.
  std::string change(Random& random, int family, const std::string& id) {
    return fmt::format(R"({{"id":"{}","v":"{}","color":"{}"}})", id, client_.unique(),
                       value(family, pick(random, colors)));
  }

  // Not always different ones: a repeated id is written in order.
  static std::vector<std::string> pick_ids(Random& random, int family, int most) {
    std::vector<std::string> ids(static_cast<std::size_t>(1 + below(random, most)));
    std::generate(ids.begin(), ids.end(), [&] { return pick_id(random, family); });
    return ids;
  }

  std::string text(Random& random, int family, const std::string& id) {
    std::string members;
    if (below(random, 8) != 0) {
      members += fmt::format(R"(,"color":"{}")", value(family, pick(random, colors)));
    }
    if (below(random, 2) != 0) {
      members += fmt::format(R"(,"owner":"{}")", value(family, pick(random, owners)));
    }
    if (below(random, 4) == 0) {
      members += fmt::format(R"(,"key":"{}")", value(family, pick(random, colors)));
    }
    std::string tags;
    for (int count = below(random, 3); count > 0; --count) {
      tags += fmt::format(R"({}"{}")", tags.empty() ? "" : ",", value(family, pick(random, colors)));
    }
    return fmt::format(R"({{"id":"{}","v":"{}"{},"tags":[{}]}})", id, client_.unique(), members, tags);
  }

  void read(Random& random) {
    const int family = pick_family(random);
    if (below(random, 2) == 0) {
      const std::vector<std::string> ids = pick_ids(random, family, 4);
      left_ -= static_cast<int>(ids.size());
      client_.get(ids);
      return;
    }
    --left_;
    const char* const property = pick(random, properties);
    const std::string index = fmt::format("index_{}", property);
    const std::string word = pick(random, property == std::string_view("owner") ? owners : colors);
    if (below(random, 4) == 0) {
      client_.query({index, property, value(family, "a"), value(family, "z")});
    } else {
      client_.query({index, property, value(family, word), value(family, word)});
    }
  }

  static constexpr std::array<const char*, 3> colors = {"blue", "green", "red"};
  static constexpr std::array<const char*, 3> owners = {"ann", "ann", "bob"};
  static constexpr std::array<const char*, 4> properties = {"color", "owner", "tags", "key"};

  Client& client_;
  const std::uint64_t seed_;
  std::atomic<int> left_;
  const long long origin_;
};

volatile std::sig_atomic_t stopped = 0;

void crash(Client& client, std::uint64_t seed, int count) {
  constexpr int most = 16;
  Random random(seed);
  while (stopped == 0) {
    std::set<int> numbers;
    for (int size = 1 + below(random, most); size > 0; --size) {
      numbers.insert(below(random, count));
    }
    std::vector<std::string> ids;
    std::vector<NewText> entities;
    for (const int number : numbers) {
      ids.push_back(crash_id(number));
      entities.push_back({ids.back(), crash_entity(number, random(), client.unique())});
    }
    below(random, 6) == 0 ? client.remove(ids) : client.put(entities);
  }
}

void meet(const std::string& mine, const std::string& other) {
  std::ofstream(mine, std::ios::app) << '.';
  const std::uintmax_t times = std::filesystem::file_size(mine);
  std::error_code absent;
  while (std::filesystem::file_size(other, absent) < times || absent) {
    absent.clear();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void follow(Client& client, const std::vector<std::string>& line) {
  const std::string& word = line.at(0);
  if (word == "put") {
    client.put({{line.at(1), line.at(2)}});
  } else if (word == "put_if_absent") {
    client.put_if_absent({{line.at(1), line.at(2)}});
  } else if (word == "remove") {
    client.remove({line.at(1)});
  } else if (word == "get") {
    client.get({line.at(1)});
  } else if (word == "query") {
    client.query({line.at(1), line.at(2), line.at(3), line.at(4)});
  } else if (word == "meet") {
    meet(line.at(1), line.at(2));
  } else if (word == "random") {
    RandomTraffic(client, std::stoull(line.at(1)), std::stoi(line.at(2)), std::stoll(line.at(3))).run();
  } else if (word == "crash") {
    crash(client, std::stoull(line.at(1)), std::stoi(line.at(2)));
  } else {
    throw std::invalid_argument("cannot understand " + word);
  }
}

}  // namespace
}  // namespace looseleaf::test

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::cerr << "usage: history_worker CLUSTER_FILE RECORD_FILE NAME [NEXT_CLUSTER_FILE]\n";
    return 2;
  }
  std::signal(SIGTERM, [](int) { looseleaf::test::stopped = 1; });
  try {
    std::vector<std::string> clusters(argv + 4, argv + argc);
    clusters.insert(clusters.begin(), argv[1]);
    looseleaf::test::Client client(clusters, argv[2], argv[3]);
    for (std::string line; std::getline(std::cin, line);) {
      looseleaf::test::follow(client, looseleaf::test::tab_separated(line));
    }
  } catch (const std::exception& error) {
    std::cerr << argv[3] << ": " << error.what() << '\n';
    return 1;
  }
  return 0;
}

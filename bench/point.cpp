// Single operations: puts one at a time, gets one at a time and from standard input, three kinds of queries; against
// statements written by hand and a table with a JSON column.
// usage: bench_point [--entities N] [--runs N] [--pool SIZE] [--redo SIZE]
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <looseleaf/datastore.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/measure.hpp"
#include "bench/yardsticks/hand_written.hpp"

namespace looseleaf::bench {
namespace {

constexpr std::uint64_t most_puts = 500, most_reads = 1000;  // a run; fewer of a small store

// What the file of entities has: samples to ask for.
struct Sample {
  std::string id, user, feed, link;
};

std::vector<Sample> samples_of(const std::string& path, std::uint64_t entities) {
  const std::uint64_t step = std::max<std::uint64_t>(10, entities / most_reads);
  std::vector<Sample> samples;
  std::ifstream file(path);
  std::string line;
  for (std::uint64_t i = 0; std::getline(file, line); ++i) {
    if (i % step == 0) {
      const auto entity = nlohmann::json::parse(line);
      samples.push_back({entity.at("id"), entity.at("user_id"), entity.at("feed_id"), entity.at("link")});
    }
  }
  std::shuffle(samples.begin(), samples.end(), std::mt19937_64(1));
  return samples;
}

std::vector<IndexDefinition> all_definitions() {
  std::vector<IndexDefinition> result;
  for (const std::string& definition : definitions()) {
    result.push_back(IndexDefinition::parse(definition, "bench"));
  }
  return result;
}

class Points {
 public:
  explicit Points(const Settings& settings)
      : servers_(settings),
        entities_(settings.entities),
        file_(servers_.write_entities("entities.jsonl", entities_)),
        indexes_(servers_.write_definitions(definitions().size())),
        databases_(servers_, 2, &indexes_),
        native_databases_(servers_, 1, nullptr),
        samples_(samples_of(file_, entities_)) {
    note("filling the stores");
    servers_.run({databases_.looseleaf({"put"}, file_)});
    create_native(servers_, native_databases_);
    servers_.run({{{sibling("yardstick_load"), "native", native_databases_.file(), file_, "1"}}});
    servers_.cluster().server_sql(0, fmt::format("ALTER TABLE {}.native ADD KEY (feed_id, published), ADD KEY (link)",
                                                 native_databases_.name(0)));
    for (const Sample& sample : samples_) {
      ids_ += sample.id + "\n";
    }
  }

  void run(int runs) {
    Datastore store = Datastore::open(Cluster::load(databases_.file()));
    HandWritten hand(databases_.file(), all_definitions());
    Session native(read_places(native_databases_.file()).at(0));
    for (int run = 1; run <= runs; ++run) {
      puts(run);
      gets(run, store, hand);
      queries(run, store, hand, native);
    }
  }

 private:
  // Two stores of their own with one index, so that the others stay as they are.
  void puts(int run) {
    const std::vector<std::string> one{indexes_.front()};
    const Databases ours(servers_, 2, &one), theirs(servers_, 2, &one);
    Datastore store = Datastore::open(Cluster::load(ours.file()));
    HandWritten hand(theirs.file(), {all_definitions().front()});
    Generator generator(entities_, static_cast<std::uint64_t>(run) + 1);
    std::vector<std::string> texts(std::min(most_puts, samples_.size()));
    std::generate(texts.begin(), texts.end(), [&] { return generator.next(); });
    take_turns(
        servers_, {"single put", "1 index", {}, run}, texts.size(),
        {{"looseleaf",
          [&](std::size_t i) { require(store.put({texts[i]}).front().status == WriteStatus::stored, "a put failed"); }},
         {"hand-written", [&](std::size_t i) { hand.put(texts[i]); }}});
  }

  void gets(int run, Datastore& store, HandWritten& hand) {
    const auto some = [](std::string_view text) { require(!text.empty(), "an entity is empty"); };
    take_turns(servers_, {"get", "one at a time", {}, run}, samples_.size(),
               {{"looseleaf",
                 [&](std::size_t i) {
                   require(store.get({Uuid::parse(samples_[i].id).value()}).front().has_value(), "an id is lost");
                 }},
                {"hand-written", [&](std::size_t i) { hand.get(samples_[i].id, some); }}});
    note(fmt::format("get, from standard input: run {}", run));
    std::string input;
    const std::size_t repeats = std::max<std::size_t>(1, 20 * most_reads / samples_.size());
    for (std::size_t i = 0; i < repeats; ++i) {
      input += ids_;
    }
    const std::string path = servers_.cluster().directory().write("ids", input);
    record({"get", "from standard input", "looseleaf", run}, repeats * samples_.size(),
           servers_.run({databases_.looseleaf({"get", "-"}, path)}));
  }

  struct Kind {
    std::string name;
    std::size_t index = 0;
    std::function<Query(const Sample&)> query;
    std::function<std::string(const Sample&)> shard_value, by_index, native;  // SQL
  };

  static std::vector<Kind> kinds() {
    const auto equal = [](const std::string& index, const std::string& property, const std::string& value) {
      Query query;
      query.index = index;
      query.conditions = {{property, Operator::equal, value}};
      return query;
    };
    const auto where = [](const std::string& column, const std::string& literal) {
      return "WHERE " + column + " = " + literal;
    };
    const std::string newest = " ORDER BY published DESC LIMIT 10";
    return {
        {"a user's entities", 0, [=](const Sample& s) { return equal("index_user_id", "user_id", s.user); },
         [](const Sample& s) { return s.user; }, [=](const Sample& s) { return where("user_id", id_literal(s.user)); },
         [=](const Sample& s) { return where("user_id", id_literal(s.user)); }},
        {"10 newest of a feed", 1,
         [=](const Sample& s) {
           Query query = equal("index_feed_id", "feed_id", s.feed);
           query.descending = true;
           query.limit = 10;
           return query;
         },
         [](const Sample& s) { return s.feed; },
         [=](const Sample& s) { return where("feed_id", id_literal(s.feed)) + newest; },
         [=](const Sample& s) { return where("feed_id", id_literal(s.feed)) + newest; }},
        {"one link", 2, [=](const Sample& s) { return equal("index_link", "link", s.link); },
         [](const Sample& s) { return s.link; }, [=](const Sample& s) { return where("link", text_literal(s.link)); },
         [=](const Sample& s) { return where("link", text_literal(s.link)); }}};
  }

  void queries(int run, Datastore& store, HandWritten& hand, Session& native) {
    const std::vector<IndexDefinition> indexes = all_definitions();
    for (const Kind& kind : kinds()) {
      take_turns(servers_, {"query", kind.name, {}, run}, samples_.size(),
                 {{"looseleaf",
                   [&](std::size_t i) {
                     some_came(store.query(kind.query(samples_[i]), [](const Entity&) { return true; }).entities);
                   }},
                  {"hand-written",
                   [&](std::size_t i) {
                     std::uint64_t came = 0;
                     hand.query(indexes[kind.index], kind.shard_value(samples_[i]), kind.by_index(samples_[i]),
                                [&](std::string_view) { ++came; });
                     some_came(came);
                   }},
                  {"native JSON", [&](std::size_t i) {
                     const auto rows = native.query("SELECT body FROM native " + kind.native(samples_[i]));
                     std::uint64_t came = 0;
                     while (rows->next()) {
                       came += rows->getString(1).length() > 0 ? 1 : 0;
                     }
                     some_came(came);
                   }}});
    }
  }

  static void some_came(std::uint64_t entities) { require(entities > 0, "a query found nothing"); }

  const Servers servers_;
  const std::uint64_t entities_;
  const std::string file_;
  const std::vector<std::string> indexes_;
  const Databases databases_, native_databases_;
  const std::vector<Sample> samples_;
  std::string ids_;  // one a line
};

void run(const Settings& settings) {
  Points(settings).run(settings.runs);
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_point", argc, argv, looseleaf::bench::run);
}

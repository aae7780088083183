// The 30 newest entities of 50 and of 1,000 users, of whom each has a thousandth of all entities, or 20; against
// statements written by hand and a table with a JSON column, which sort what they find. All on one server.
// usage: bench_order [--entities N] [--runs N] [--pool SIZE] [--redo SIZE]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <looseleaf/datastore.hpp>
#include <random>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/yardsticks/hand_written.hpp"

namespace looseleaf::bench {
namespace {

constexpr std::uint64_t active_users = 1000, rows_of_quiet_user = 20, newest = 30;

// Users are numbered from 0. Their ids are spread.
std::string user_id(std::uint64_t number) {
  std::mt19937_64 random(number);
  return fmt::format("{:016x}{:016x}", random(), random());
}

struct Kind {
  std::string property, rows;
  std::uint64_t users;

  [[nodiscard]] std::string table() const { return "index_" + property; }
  [[nodiscard]] std::string definition() const {
    return fmt::format(R"({{"table": "{0}", "properties": [{{"name": "{1}", "type": "uuid"}},
                           {{"name": "published", "type": "int"}}], "shard_on": "{1}"}})",
                       table(), property);
  }
};

std::vector<Kind> kinds_of(std::uint64_t entities) {
  return {{"active", "a thousandth of all rows each", active_users},
          {"quiet", "20 rows each", std::max(active_users, entities / rows_of_quiet_user)}};
}

class Orders {
 public:
  explicit Orders(const Settings& settings)
      : servers_(settings),
        kinds_(kinds_of(settings.entities)),
        indexes_(write_definitions()),
        databases_(servers_, 1, &indexes_),
        native_databases_(servers_, 1, nullptr) {
    note("filling the stores");
    const std::string file = write_entities(settings.entities);
    servers_.run({databases_.looseleaf({"put"}, file)});
    create_native(servers_, native_databases_);
    servers_.run({{{sibling("yardstick_load"), "native", native_databases_.file(), file, "1"}}});
    for (const Kind& kind : kinds_) {
      servers_.cluster().server_sql(
          0, fmt::format("ALTER TABLE {0}.native ADD COLUMN {1} BINARY(16) AS (UNHEX(JSON_VALUE(body, '$.{1}')));"
                         "ALTER TABLE {0}.native ADD KEY ({1}, published, id); ANALYZE TABLE {0}.native",
                         native_databases_.name(0), kind.property));
    }
  }

  void run(int runs) {
    std::vector<IndexDefinition> definitions;
    for (const Kind& kind : kinds_) {
      definitions.push_back(IndexDefinition::parse(kind.definition(), "bench"));
    }
    const Datastore store = Datastore::open(Cluster::load(databases_.file()));
    HandWritten hand(databases_.file(), definitions);
    Session native(read_places(native_databases_.file()).at(0));
    for (int run = 1; run <= runs; ++run) {
      for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
        ask(run, kinds_[kind], definitions[kind], 50, 100, store, hand, native);
        ask(run, kinds_[kind], definitions[kind], 1000, 10, store, hand, native);
      }
    }
  }

 private:
  [[nodiscard]] std::vector<std::string> write_definitions() const {
    std::vector<std::string> paths;
    for (const Kind& kind : kinds_) {
      paths.push_back(servers_.cluster().directory().write(kind.table() + ".json", kind.definition()));
    }
    return paths;
  }

  [[nodiscard]] std::string write_entities(std::uint64_t count) const {
    const std::string path = servers_.path("entities.jsonl");
    std::ofstream file(path);
    Generator generator(count, 1);
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string text = generator.next();
      text.pop_back();
      for (const Kind& kind : kinds_) {
        text += fmt::format(R"(,"{}":"{}")", kind.property, user_id(random() % kind.users));
      }
      file << text << "}\n";
    }
    require(static_cast<bool>(file), "cannot write " + path);
    return path;
  }

  // With 1,000 values in one list, MariaDB makes a table of the list and reads the whole index: a list has 500 at most.
  static std::string where(const std::string& column, const std::vector<std::string>& users) {
    std::vector<std::string> lists;
    for (std::size_t from = 0; from < users.size(); from += 500) {
      std::vector<std::string> literals;
      for (std::size_t i = from; i < std::min(from + 500, users.size()); ++i) {
        literals.push_back(id_literal(users[i]));
      }
      lists.push_back(fmt::format("{} IN ({})", column, fmt::join(literals, ",")));
    }
    return fmt::format("WHERE {}", fmt::join(lists, " OR "));
  }

  void ask(int run, const Kind& kind, const IndexDefinition& definition, std::size_t values, std::size_t times,
           const Datastore& store, HandWritten& hand, Session& native) const {
    std::vector<std::vector<std::string>> users(times);
    std::vector<std::uint64_t> numbers(kind.users);
    std::generate(numbers.begin(), numbers.end(), [n = std::uint64_t{0}]() mutable { return n++; });
    std::mt19937_64 random(static_cast<std::uint64_t>(run));
    for (auto& some : users) {
      std::shuffle(numbers.begin(), numbers.end(), random);
      std::transform(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(values), std::back_inserter(some),
                     user_id);
    }
    const auto all_came = [](std::uint64_t entities) { require(entities == newest, "a page is not full"); };
    take_turns(servers_, {"newest of several users", fmt::format("{} users, {}", values, kind.rows), {}, run}, times,
               {{"looseleaf",
                 [&](std::size_t i) {
                   Query query;
                   query.index = kind.table();
                   for (const std::string& user : users[i]) {
                     query.conditions.push_back({kind.property, Operator::equal, user});
                   }
                   query.order_by = "published";
                   query.descending = true;
                   query.limit = newest;
                   all_came(store.query(query, [](const Entity&) { return true; }).entities);
                 }},
                {"hand-written",
                 [&](std::size_t i) {
                   std::uint64_t came = 0;
                   hand.query(definition, users[i].front(),
                              where(kind.property, users[i]) +
                                  fmt::format(" ORDER BY published DESC, entity_id DESC LIMIT {}", newest),
                              [&](std::string_view) { ++came; });
                   all_came(came);
                 }},
                {"native JSON", [&](std::size_t i) {
                   const auto rows = native.query("SELECT body FROM native " + where(kind.property, users[i]) +
                                                  fmt::format(" ORDER BY published DESC, id DESC LIMIT {}", newest));
                   std::uint64_t came = 0;
                   while (rows->next()) {
                     came += rows->getString(1).length() > 0 ? 1 : 0;
                   }
                   all_came(came);
                 }}});
  }

  const Servers servers_;
  const std::vector<Kind> kinds_;
  const std::vector<std::string> indexes_;
  const Databases databases_, native_databases_;
};

void run(const Settings& settings) {
  Orders(settings).run(settings.runs);
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_order", argc, argv, looseleaf::bench::run);
}

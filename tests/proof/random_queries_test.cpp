// Random queries, by pages and while writers run, against a full scan by the reference. What nobody touches must come
// exactly once and in order. Of what is moving, only what it was at some moment may come, on no page twice, and what
// matched throughout must come exactly once, on the page within which its rows stayed.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "base/deadline.hpp"
#include "base/failpoint.hpp"
#include "tests/proof/moving_entities.hpp"
#include "tests/proof/random_ops_puts.hpp"
#include "tests/proof/random_ops_reference.hpp"
#include "tests/proof/random_ops_values.hpp"
#include "tests/proof/random_questions.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/proof.hpp"
#include "tests/support/split.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr std::size_t indexes = 6, still = 40, moving = 12, extra_rows = 8;  // in one store
constexpr std::size_t cases_per_store = 1000, cases_per_program_run = 150;
constexpr std::size_t most_pages = 8;
constexpr std::array<std::uint64_t, 7> page_sizes = {1, 2, 3, 5, 10, 50, 0};
constexpr std::size_t of_indexes = 6;  // those that an index can use

// What is asked, and the filters that it asks for.
struct Question {
  Query query;
  Filters filters;
};

void require(bool held, const std::string& what) {
  if (!held) {
    throw Mismatch(what);
  }
}

struct Page {
  std::vector<Entity> entities;
  std::string next;
};

// By what a question differs from others, and how often it was asked so.
using Tally = std::map<std::string, std::uint64_t>;

// A store with entities that nobody touches, entities that move, and index rows that nobody called for.
class World {
 public:
  World(std::uint64_t seed, Tally& tally)
      : random_(seed),
        tally_(tally),
        shards_(1 + static_cast<std::uint32_t>(random_.below(3))),
        fixture_(shards_),
        reference_(shards_),
        taste_(random_taste(random_)) {
    for (std::size_t i = 0; i < indexes; ++i) {
      const IndexDefinition definition = draw_definition(i, seed % 2 == 0);
      reference_.indexes()[definition.table] = {definition, true};
      fixture_.datastore.create_indexes({definition});
    }
    put_still();
    plant_extra_rows();
    moving_ = std::make_unique<MovingEntities>(fixture_.open(), ids(still, moving), taste_, random_.number());
  }
  ~World() {
    tally_["writes meanwhile"] += moving_->writes();
    moving_.reset();
    for (std::uint32_t shard = 0; shard < shards_; ++shard) {
      fixture_.cluster.server_sql(fixture_.cluster.server_of(shard),
                                  "DROP DATABASE " + fixture_.cluster.database(shard));
    }
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Throws Mismatch.
  void ask(bool by_program) {
    const Question question = random_question(by_program);
    const IndexDefinition& definition = reference_.indexes().at(question.query.index).definition;
    try {
      check(question, definition, by_program);
    } catch (const std::exception& error) {
      throw Mismatch(fmt::format("{}\n  {}{}\n  {} shards, {}", error.what(), describe(question.query),
                                 by_program ? ", by the program" : "", shards_, definition.canonical_json()));
    }
    count(question, definition, by_program);
  }

 private:
  // Numbers spread over the shards, and over the id's first digits.
  static std::vector<Uuid> ids(std::size_t first, std::size_t count) {
    std::vector<Uuid> ids;
    for (std::size_t i = first; i < first + count; ++i) {
      ids.push_back(*Uuid::parse(fmt::format("{:02x}{:030x}", i % 5, i)));
    }
    return ids;
  }

  // Of the first five each begins with another type, so that no run lacks one; nor a type that can be sharded on, nor
  // a unique or an immutable index.
  IndexDefinition draw_definition(std::size_t number, bool sharded) {
    while (true) {
      IndexDefinition definition = random_definition(random_, taste_, fmt::format("index_{}", number));
      const bool wanted_type = number > 4 || definition.properties.front().type == static_cast<PropertyType>(number);
      const bool wanted_place = number > 2 || !sharded || definition.shard_on == std::size_t{0};
      const bool wanted_kind = number < 5 || (sharded ? definition.unique : definition.immutable);
      if (wanted_type && wanted_place && wanted_kind) {
        return definition;
      }
    }
  }

  void put_still() {
    std::vector<std::string> texts;
    std::vector<ReferencePut> puts;
    for (const Uuid& id : ids(0, still)) {
      Json json = random_entity(random_, taste_);
      json.members.emplace(json.members.begin(), "id", Json::string(to_string(id)));
      texts.push_back(json.write());
      puts.push_back({id, {texts.back(), json}, {}});
    }
    const auto results = fixture_.datastore.put(texts);
    for (std::size_t i = 0; i < puts.size(); ++i) {
      puts[i].told = results.at(i);
    }
    const auto complaint = take_puts(reference_, puts);
    require(!complaint, "an entity was not stored: " + complaint.value_or(""));
  }

  // Stale, orphaned and misplaced ones, as crashes and worse leave them: up to three of one entity next to each other,
  // on one shard or on all.
  void plant_extra_rows() {
    for (const auto& [table, index] : reference_.indexes()) {
      std::vector<ReferenceRow> rows;
      for (const auto& of_shard : reference_.table(index.definition)) {
        rows.insert(rows.end(), of_shard.begin(), of_shard.end());
      }
      std::sort(rows.begin(), rows.end());
      for (std::size_t i = 0; i < extra_rows && !rows.empty(); ++i) {
        const std::size_t first = random_.below(rows.size());
        const std::size_t end = std::min(rows.size(), first + 1 + random_.below(3));
        const Uuid id = random_.one_in(3)   ? rows[first].entity_id
                        : random_.one_in(3) ? Uuid::make_v7()
                                            : random_.pick(ids(0, still));
        std::string values;
        for (std::size_t place = first; place < end; ++place) {
          ReferenceRow row = rows[place];
          row.entity_id = id;
          values += (values.empty() ? "" : ", ") + sql_literal(row);
        }
        const std::uint64_t only = random_.below(2 * shards_);  // shards_ or more: all
        for (std::uint32_t shard = 0; shard < shards_; ++shard) {
          if (only >= shards_ || only == shard) {
            fixture_.cluster.sql(shard, fmt::format("INSERT IGNORE INTO {} VALUES {}", table, values));
          }
        }
      }
    }
  }

  Question random_question(bool by_program) {
    while (true) {
      const auto index = std::next(reference_.indexes().begin(), static_cast<std::ptrdiff_t>(random_.below(indexes)));
      Question question{random_query(random_, index->second.definition, reference_),
                        random_filters(random_, reference_)};
      question.query.where = as_conditions(question.filters);
      question.query.limit = random_.pick(page_sizes);
      const std::size_t size = question.query.limit;
      const std::size_t most = by_program ? 2 : most_pages;
      const bool short_enough = size == 0 || whole_answer(question).size() <= size * most;
      if (short_enough && !(by_program && has_nul(question.query))) {
        return question;
      }
    }
  }

  // Of what nobody touches, on one page.
  [[nodiscard]] std::vector<Uuid> whole_answer(Question question) const {
    question.query.limit = 0;
    return reference_.query(question.query, question.filters);
  }

  // No argument of a program can.
  static bool has_nul(const Query& query) {
    const auto any = [](const std::vector<Condition>& conditions) {
      return std::any_of(conditions.begin(), conditions.end(),
                         [](const Condition& condition) { return condition.value.find('\0') != std::string::npos; });
    };
    return any(query.conditions) || any(query.where);
  }

  void check(const Question& question, const IndexDefinition& definition, bool by_program) {
    std::vector<Uuid> given;
    std::optional<ReferenceRow> last_still, page_start;
    const auto begin = moving_->now();
    Query query = question.query;
    const auto before = [&](const ReferenceRow& a, const ReferenceRow& b) { return query.descending ? b < a : a < b; };
    do {
      const auto page_begin = moving_->now();
      const Page page = by_program ? ask_program(query) : ask_library(query, definition);
      const auto page_end = moving_->now();
      require(query.limit == 0
                  ? page.next.empty()
                  : page.entities.size() <= query.limit && (page.next.empty() || page.entities.size() == query.limit),
              fmt::format("a page of {} entities, next: {}", page.entities.size(), page.next));
      std::set<Uuid> on_page;
      std::optional<ReferenceRow> last = page_start;
      for (const Entity& entity : page.entities) {
        require(on_page.insert(entity.id).second, "twice on a page: " + entity.json);
        const ReferenceRow row = row_of(entity, question, definition, page_begin, page_end);
        if (moving_->states(entity.id, page_begin, page_end).size() <= 1) {
          require(!last_still || before(*last_still, row), "not in order: " + entity.json);
          last_still = row;
        }
        if (!last || before(*last, row)) {
          last = row;
        }
        given.push_back(entity.id);
      }
      for (const Uuid& id : moving_->ids()) {
        const auto is_on_page = [&](const ReferenceRow& row) {
          return (!page_start || before(*page_start, row)) && (page.next.empty() || !before(*last, row));
        };
        if (stayed(id, question, definition, page_begin, page_end, is_on_page)) {
          require(on_page.contains(id), "is missing, although it stayed on the page: " + to_string(id));
        }
      }
      page_start = last;
      query.after = page.next;
      tally_["further pages"] += page.next.empty() ? 0 : 1;
    } while (!query.after.empty());
    check_still(question, given);
    check_moving(question, definition, given, begin, moving_->now());
  }

  // True if the entity matched all the time, by rows of which the first fulfilled the condition.
  bool stayed(const Uuid& id, const Question& question, const IndexDefinition& definition, MovingEntities::Moment from,
              MovingEntities::Moment to, const std::function<bool(const ReferenceRow&)>& condition) {
    std::set<ReferenceRow> places;
    for (const auto& state : moving_->states(id, from, to)) {
      if (!state || !passes(question.filters, state->json)) {
        return false;
      }
      const auto rows = rows_of(definition, state->json, question.query.conditions);
      if (rows.empty()) {
        return false;
      }
      const ReferenceRow place = place_of(rows, definition, question.query, id);
      if (!condition(place)) {
        return false;
      }
      places.insert(place);
    }
    tally_["moved within a page"] += places.size() > 1 ? 1 : 0;
    return true;
  }

  Page ask_library(const Query& query, const IndexDefinition& definition) {
    Page page;
    const QueryReport report = fixture_.datastore.query(query, [&](const Entity& entity) {
      page.entities.push_back(entity);
      return true;
    });
    page.next = report.next;
    std::set<std::uint32_t> asked;
    for (const auto& shard : report.shards) {
      asked.insert(shard.shard);
    }
    require(asked == shards_of(query, definition), fmt::format("asked the shards {}", fmt::join(asked, ", ")));
    require(report.entities == page.entities.size(), "the report has another number of entities");
    tally_["outdated rows"] += report.filtered_stale;
    tally_["repeated rows"] += report.filtered_repeats;
    tally_["filtered"] += report.filtered_where;
    return page;
  }

  // Where rows can be that meet the conditions.
  std::set<std::uint32_t> shards_of(const Query& query, const IndexDefinition& definition) const {
    std::set<std::uint32_t> shards;
    for (const Condition& condition : query.conditions) {
      if (definition.shard_on && condition.op == Operator::equal &&
          condition.property == definition.properties[*definition.shard_on].name) {
        const Property& property = definition.properties[*definition.shard_on];
        PropertyValue value = read_value(property.type, condition.value);
        if (property.type == PropertyType::string) {
          value = cut(condition.value, property.max_length);
        }
        shards.insert(shard_of(value, shards_));
      }
    }
    if (shards.empty()) {
      for (std::uint32_t shard = 0; shard < shards_; ++shard) {
        shards.insert(shard);
      }
    }
    return shards;
  }

  Page ask_program(const Query& query) const {
    std::vector<std::string> arguments = {"query", query.index, "--quiet"};  // a value may look like a mistake
    const auto written = [](const Condition& condition) {
      return condition.property + (condition.each ? "[]" : "") + operators.at(static_cast<std::size_t>(condition.op)) +
             condition.value;
    };
    std::transform(query.conditions.begin(), query.conditions.end(), std::back_inserter(arguments), written);
    for (const Condition& condition : query.where) {
      arguments.insert(arguments.end(), {"--where", written(condition)});
    }
    if (!query.order_by.empty()) {
      arguments.insert(arguments.end(), {"--order-by", query.order_by});
    }
    if (query.descending) {
      arguments.emplace_back("--desc");
    }
    if (query.limit > 0) {
      arguments.insert(arguments.end(), {"--limit", std::to_string(query.limit)});
    }
    if (!query.after.empty()) {
      arguments.insert(arguments.end(), {"--after", query.after});
    }
    return page_of(fixture_.cluster.looseleaf(arguments), query);
  }

  static Page page_of(const cli::ProcessResult& result, const Query& query) {
    require(result.status == 0, "status " + std::to_string(result.status) + ": " + result.err);
    Page page;
    for (std::size_t at = 0; at < result.out.size();) {
      const std::string line = result.out.substr(at, result.out.find('\n', at) - at);
      page.entities.push_back({Uuid::parse(line.substr(7, 32)).value(), line});  // {"id":"…
      at += line.size() + 1;
    }
    std::string err = result.err;
    const auto begins_with = [&](const char* text) {
      return err.starts_with(std::string("looseleaf: warning: ") + text);
    };
    const auto is_of_bounds = [&] { return begins_with("no value lies between the two bounds of a property"); };
    while (is_of_bounds() || begins_with("no entity that was read has ") ||
           begins_with("no value that was read has ") || begins_with("the quotes in a filter belong to the value") ||
           begins_with("* and % in a filter ") || begins_with("a filter compares the text of an id")) {
      require(!query.where.empty() || is_of_bounds(), "a warning of a filter");
      constexpr std::string_view last_line = "\nhint: ";
      err.erase(0, err.find('\n', err.find(last_line) + last_line.size()) + 1);
    }
    if (!err.empty()) {
      require(err.starts_with("next: ") && err.find('\n') == err.size() - 1, err);
      page.next = err.substr(6, err.size() - 7);
    }
    return page;
  }

  // The row at which the entity has to be given, in the state in which it was.
  ReferenceRow row_of(const Entity& entity, const Question& question, const IndexDefinition& definition,
                      MovingEntities::Moment from, MovingEntities::Moment to) const {
    const auto found = reference_.entities().find(entity.id);
    if (found != reference_.entities().end()) {
      require(entity.json == found->second.text, "not the entity's text: " + entity.json);
      return row_of(entity.id, found->second, question, definition);
    }
    for (const auto& state : moving_->states(entity.id, from, to)) {
      if (state && state->text == entity.json) {
        return row_of(entity.id, *state, question, definition);
      }
    }
    throw Mismatch("not what the entity was then: " + entity.json);
  }

  static ReferenceRow row_of(const Uuid& id, const Reference::Stored& entity, const Question& question,
                             const IndexDefinition& definition) {
    const auto rows = rows_of(definition, entity.json, question.query.conditions);
    require(!rows.empty() && passes(question.filters, entity.json), "does not match: " + entity.text);
    return place_of(rows, definition, question.query, id);
  }

  void check_still(const Question& question, std::vector<Uuid> given) const {
    std::erase_if(given, [&](const Uuid& id) { return !reference_.entities().contains(id); });
    const auto expected = whole_answer(question);
    require(given == expected, fmt::format("  expected: {}\n  found:    {}", fmt::join(texts_of(expected), " "),
                                           fmt::join(texts_of(given), " ")));
  }

  // What had the same matching rows from begin to end must be there once.
  void check_moving(const Question& question, const IndexDefinition& definition, const std::vector<Uuid>& given,
                    MovingEntities::Moment begin, MovingEntities::Moment end) {
    for (const Uuid& id : moving_->ids()) {
      std::set<std::set<std::vector<PropertyValue>>> all_rows;
      const auto states = moving_->states(id, begin, end);
      for (const auto& state : states) {
        const bool passed = state && passes(question.filters, state->json);
        all_rows.insert(passed ? rows_of(definition, state->json, question.query.conditions)
                               : std::set<std::vector<PropertyValue>>());
      }
      if (all_rows.size() == 1 && !all_rows.begin()->empty()) {
        require(std::count(given.begin(), given.end(), id) == 1, "is missing, or comes twice: " + to_string(id));
        tally_["moved, but matched throughout"] += states.size() > 1 ? 1 : 0;
      }
    }
  }

  void count(const Question& question, const IndexDefinition& definition, bool by_program) {
    const Query& query = question.query;
    const auto has = [&](const std::string& what, bool it_has) { tally_[what] += it_has ? 1 : 0; };
    const auto& properties = definition.properties;
    ++tally_["cases"];
    has("by the program", by_program);
    has(definition.shard_on ? "sharded on " + to_string(properties[*definition.shard_on].type) : "local", true);
    has("each", std::any_of(properties.begin(), properties.end(), [](const auto& one) { return one.each; }));
    has("partial", !definition.where.empty());
    has("immutable", definition.immutable);
    has("unique", definition.unique);
    has(properties.size() == 1 ? "of one property" : "compound", true);
    has(query.descending ? "descending" : "ascending", true);
    has("filter", !question.filters.empty());
    has(fmt::format("page of {}", query.limit), true);
    has("no condition", query.conditions.empty());
    for (const Filter& filter : question.filters) {
      has(fmt::format("--where a{}{}", filter.each ? "[]" : "", operators.at(static_cast<std::size_t>(filter.op))),
          true);
    }
    std::map<std::string, int> equals;
    for (const Condition& condition : query.conditions) {
      const auto property = std::find_if(properties.begin(), properties.end(),
                                         [&](const auto& one) { return one.name == condition.property; });
      has(fmt::format("{} {}", to_string(property->type), operators.at(static_cast<std::size_t>(condition.op))), true);
      has("any of several values", condition.op == Operator::equal && ++equals[condition.property] == 2);
    }
    for (const auto& property : properties) {
      if (property.name == query.order_by) {
        has("ordered by " + to_string(property.type), true);
        has("ordered across values", equals[properties.front().name] > 1 && &property != &properties.front());
      }
    }
  }

  Random random_;
  Tally& tally_;
  const std::uint32_t shards_;
  StoreFixture fixture_;
  Reference reference_;
  const Taste taste_;
  std::unique_ptr<MovingEntities> moving_;
};

// What a run must have asked to be worth its name.
std::vector<std::string> kinds() {
  std::vector<std::string> kinds = split(
      "local|sharded on uuid|sharded on string|sharded on int|each|partial|immutable|unique|of one property|compound|"
      "descending|filter|no condition|by the program|any of several values|ordered across values|further pages|"
      "filtered|repeated rows|outdated rows|writes meanwhile|moved, but matched throughout|moved within a page",
      '|');
  for (const char* type : {"uuid", "string", "int", "double", "bool"}) {
    kinds.push_back(fmt::format("ordered by {}", type));
    for (std::size_t op = 0; op < of_indexes; ++op) {
      if (std::string(operators.at(op)) != "^=" || std::string(type) == "string") {
        kinds.push_back(fmt::format("{} {}", type, operators.at(op)));
      }
    }
  }
  for (const char* op : operators) {
    kinds.push_back(fmt::format("--where a{}", op));
    kinds.push_back(fmt::format("--where a[]{}", op));
  }
  for (const std::uint64_t size : page_sizes) {
    kinds.push_back(fmt::format("page of {}", size));
  }
  return kinds;
}

TEST_CASE("queries by pages, while writers run, give what a full scan gives") {
  const std::uint64_t seed = print_run_seed();
  const std::size_t stores = full_run() ? 200 : 5, more = 25;  // more, where a kind needs luck
  Tally tally;
  const auto all_kinds = [&, wanted = kinds()] {
    return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& kind) { return tally[kind] > 0; });
  };
  for (std::size_t store = 0; store < stores || (store < stores + more && !all_kinds()); ++store) {
    try {
      World world(seed + store, tally);
      for (std::size_t i = 0; i < cases_per_store; ++i) {
        world.ask(i % cases_per_program_run == 0);
      }
    } catch (const std::exception& error) {
      FAIL("LOOSELEAF_SEED=" << seed + store << ": " << std::string(error.what()));
    }
  }
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [what, number] : tally) {
    lines.emplace_back(what, fmt::format("{}", number));
  }
  for (const std::string& kind : kinds()) {
    CHECK_MESSAGE(tally[kind] > 0, kind);
  }
  log_proof("random_queries", lines);
}

// 1,000 entities that all queries match, and two writers that change their values all the time.
class ManyMoving {
 public:
  // If the index is by a group and n, the queries order by n across all groups.
  explicit ManyMoving(const IndexDefinition& definition) : fixture_(4) {
    fixture_.datastore.create_indexes({definition});
    query_.index = definition.table;
    if (definition.properties.size() > 1) {
      query_.order_by = "n";
      for (std::uint64_t group = 0; group < groups; ++group) {
        query_.conditions.push_back(Condition::parse(fmt::format("group={}", group)));
      }
    }
    std::vector<std::string> texts;
    for (std::uint64_t number = 0; number < count; ++number) {
      texts.push_back(entity(number, values_of(number)));
    }
    fixture_.datastore.put(texts);
    for (std::uint64_t writer = 0; writer < 2; ++writer) {
      writers_.emplace_back([this, writer](const std::stop_token& stop) { write(writer, stop); });
    }
  }

  // How many queries of `tries` gave each entity exactly once.
  int right_answers(int tries) {
    int right = 0;
    for (int i = 0; i < tries; ++i) {
      std::vector<Uuid> ids;
      query_.descending = i % 2 == 0;
      fixture_.datastore.query(query_, [&](const Entity& one) {
        ids.push_back(one.id);
        return true;
      });
      right += is_right(texts_of(ids)) ? 1 : 0;
    }
    return right;
  }

  // True if the program without its second look gives a wrong answer within some seconds.
  [[nodiscard]] bool is_noticed_without_second_look() const {
    const base::Deadline deadline(std::chrono::seconds(30));
    std::vector<std::string> arguments = {"query", query_.index, "--ids"};
    for (const Condition& condition : query_.conditions) {
      arguments.push_back(condition.property + "=" + condition.value);
    }
    if (!query_.order_by.empty()) {
      arguments.insert(arguments.end(), {"--order-by", query_.order_by});
    }
    while (!deadline.passed()) {
      cli::Process query = fixture_.cluster.start(arguments, {}, "query.look_again=skip,query.find_changed=skip");
      const cli::ProcessResult result = query.wait();
      CHECK(result.status == 0);
      if (!is_right(lines_of(result.out))) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::uint64_t count = 1000, groups = 16;

  static std::string values_of(std::uint64_t number) {
    return fmt::format("\"group\":{},\"n\":{}", number / 7 % groups, number);
  }

  static bool is_right(const std::vector<std::string>& ids) {
    return ids.size() == count && std::set<std::string>(ids.begin(), ids.end()).size() == count;
  }

  // Both writers change all entities, so that one may wait for the other's lock.
  void write(std::uint64_t writer, const std::stop_token& stop) {
    Datastore store = fixture_.open();
    std::mt19937_64 random(writer);
    while (!stop.stop_requested()) {
      std::vector<std::string> texts;
      for (int i = 0; i < 20; ++i) {
        texts.push_back(entity(random() % count, values_of(random() % count)));
      }
      store.put(texts);
    }
  }

  StoreFixture fixture_;
  Query query_;
  std::vector<std::jthread> writers_;  // last: they end first
};

TEST_CASE("a query beside writers gives every entity that matches throughout exactly once") {
  constexpr const char* by_group =
      R"({"table": "by_group", "properties": [{"name": "group", "type": "int"}, {"name": "n", "type": "int"}]})";
  constexpr const char* by_group_sharded =
      R"({"table": "by_group", "properties": [{"name": "group", "type": "int"}, {"name": "n", "type": "int"}],
          "shard_on": "group"})";
  for (const char* definition : {by_n, by_n_sharded, by_group, by_group_sharded}) {
    CAPTURE(std::string(definition));
    ManyMoving store(IndexDefinition::parse(definition, "test"));
    const int tries = full_run() ? 10'000 : 150;
    CHECK(store.right_answers(tries) == tries);
    CHECK((!base::failpoints_enabled || store.is_noticed_without_second_look()));
  }
}

}  // namespace
}  // namespace looseleaf::test

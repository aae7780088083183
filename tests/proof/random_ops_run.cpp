// Each answer of the store must be what the reference says, and in the end so must be what is in its tables.
#include "tests/proof/random_ops_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <iterator>
#include <limits>
#include <mutex>
#include <utility>

#include "sql/literals.hpp"
#include "tests/proof/random_ops_puts.hpp"
#include "tests/proof/random_ops_reference.hpp"
#include "tests/proof/random_questions.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

// It has more rows than it should, and lacks none.
struct MoreRows : Mismatch {
  using Mismatch::Mismatch;
};

// The library gives up an index write that takes a little longer; it may yet be carried out then.
constexpr auto slow_step = std::chrono::seconds(2);
// No server dies here, so whatever a machine that stands still does is waited for.
constexpr auto patience = std::chrono::minutes(2);

template <typename Value>
void require_equal(const std::string& what, const Value& expected, const Value& found) {
  if (expected != found) {
    throw Mismatch(fmt::format("{}\n    expected: {}\n    found:    {}", what, expected, found));
  }
}

// Both sorted: rows, or findings as texts, of which those that `is_extra` knows are about rows too many.
template <typename Texts, typename IsExtra>
void require_rows(const std::string& what, const Texts& expected, const Texts& found, const IsExtra& is_extra) {
  std::vector<std::string> more;
  std::set_difference(found.begin(), found.end(), expected.begin(), expected.end(), std::back_inserter(more));
  if (!more.empty() && found.size() == expected.size() + more.size() &&
      std::all_of(more.begin(), more.end(), is_extra)) {
    throw MoreRows(fmt::format("{}\n    expected: {}\n    found:    {}", what, expected, found));
  }
  require_equal(what, expected, found);
}

void require_findings(const std::multiset<std::string>& expected, const std::multiset<std::string>& found) {
  require_rows("findings", expected, found, [](const std::string& text) {
    static const std::vector<std::string> extra = {"stale ", "orphan ", "misplaced ", "duplicate "};
    return std::any_of(extra.begin(), extra.end(), [&](const std::string& kind) { return text.starts_with(kind); });
  });
}

// Findings as "kind index shard id".
std::multiset<std::string> finding_texts(const std::vector<Finding>& findings) {
  std::multiset<std::string> texts;
  for (const Finding& finding : findings) {
    texts.insert(fmt::format("{} {} {} {}", to_string(finding.kind), finding.index, finding.shard,
                             to_string(finding.entity_id)));
  }
  return texts;
}

std::vector<std::string> row_texts(const ReferenceTable& table) {
  std::vector<std::string> texts;
  for (std::size_t shard = 0; shard < table.size(); ++shard) {
    for (const ReferenceRow& row : table[shard]) {
      texts.push_back(fmt::format("{}: {}", shard, sql_literal(row)));
    }
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Writes through one stream that stays open, so that its catalogs grow old.
class LongStream {
 public:
  explicit LongStream(Datastore& store) : stream_(store, [this](WriteResult result) { take(std::move(result)); }) {}

  std::vector<WriteResult> put(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      stream_.put(text);
    }
    return await(texts.size());
  }

  std::vector<WriteResult> remove(const std::vector<Uuid>& ids) {
    for (const Uuid& id : ids) {
      stream_.remove(id);
    }
    return await(ids.size());
  }

 private:
  void take(WriteResult result) {
    const std::lock_guard lock(mutex_);
    results_.push_back(std::move(result));
    more_.notify_one();
  }

  std::vector<WriteResult> await(std::size_t count) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return results_.size() >= count; });
    return std::exchange(results_, {});
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<WriteResult> results_;
  WriteStream stream_;  // last: it ends first
};

// A store and its reference, and what was done to both.
class Pair {
 public:
  Pair(std::uint32_t shards, const Taste& taste, Tally& tally)
      : fixture_(shards), reference_(shards), taste_(taste), tally_(tally) {}
  ~Pair() {
    for (std::uint32_t shard = 0; shard < fixture_.cluster.shards(); ++shard) {
      fixture_.cluster.server_sql(fixture_.cluster.server_of(shard),
                                  "DROP DATABASE " + fixture_.cluster.database(shard));
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  [[nodiscard]] const std::vector<std::string>& done() const { return done_; }

  // Throws Mismatch.
  void take(const Step& step) {
    Random random(step.seed);
    store_ = random.one_in(2) ? &other_ : &first_;  // as another process: it learns of changes by itself
    switch (step.kind) {
      case Step::Kind::put:
        return put(random);
      case Step::Kind::remove:
        return remove(random);
      case Step::Kind::get:
        return get(random);
      case Step::Kind::query:
        return query(random);
      case Step::Kind::create:
        return create(random);
      case Step::Kind::backfill:
        return backfill(random);
      case Step::Kind::drop:
        return drop(random);
      case Step::Kind::clean:
      case Step::Kind::full_clean:
        return clean(step.kind == Step::Kind::full_clean);
      case Step::Kind::purge:
        return purge();
      case Step::Kind::verify:
        return verify();
      case Step::Kind::damage:
        return damage(random);
      case Step::Kind::tables:
        return check_tables();
      case Step::Kind::status:
        return status();
      case Step::Kind::init:
        done_.emplace_back("init");
        return require_equal("shards created again", 0U, store_->init().created);
    }
  }

 private:
  static Uuid pick_id(Random& random) {
    return *Uuid::parse(fmt::format("{:08x}{:024x}", random.below(2), random.below(10)));
  }

  // As it may be written.
  static std::string written(Random& random, const Uuid& id) {
    std::string text = to_string(id);
    if (random.one_in(4)) {
      std::transform(text.begin(), text.end(), text.begin(),
                     [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
    }
    return random.one_in(4) ? text.insert(8, "-").insert(13, "-").insert(18, "-").insert(23, "-") : text;
  }

  struct Given {
    std::optional<Uuid> id;  // absent: the library makes one
    Json json;
    std::string text;  // as put
  };

  [[nodiscard]] Given random_given(Random& random) const {
    Given given;
    given.json = random_entity(random, taste_);
    if (!random.one_in(12)) {
      given.id = pick_id(random);
      const auto place =
          given.json.members.begin() + static_cast<std::ptrdiff_t>(random.below(given.json.members.size() + 1));
      given.json.members.emplace(place, "id", Json::string(written(random, *given.id)));
    }
    given.text = given.json.write();
    return given;
  }

  void put(Random& random) {
    std::vector<Given> given;
    std::vector<std::string> texts;
    for (std::size_t count = 1 + random.below(random.one_in(3) ? 30 : 3); count > 0; --count) {
      given.push_back(random_given(random));
      texts.push_back(random.one_in(6) ? " \n" + given.back().text + "\t" : given.back().text);
      done_.push_back("put " + given.back().text);
    }
    const std::vector<WriteResult> results = random.one_in(2) ? stream_.put(texts) : store_->put(texts);
    require_equal("results of the put", given.size(), results.size());
    std::vector<ReferencePut> puts;
    for (std::size_t i = 0; i < given.size(); ++i) {
      puts.push_back(as_told(std::move(given[i]), results[i]));
    }
    if (const auto complaint = take_puts(reference_, puts)) {
      throw Mismatch(*complaint);
    }
  }

  ReferencePut as_told(Given given, const WriteResult& result) {
    if (!result.id || (given.id && *given.id != *result.id)) {
      throw Mismatch("wrong id for " + given.text);
    }
    if (!given.id) {
      const bool empty = given.json.members.empty();
      given.text = fmt::format(R"({{"id":"{}"{}{})", to_string(*result.id), empty ? "" : ",", given.text.substr(1));
    }
    ++(result.holder ? tally_.refused : result.status == WriteStatus::stored ? tally_.stored : tally_.rejected);
    return {*result.id, {std::move(given.text), std::move(given.json)}, result};
  }

  static void require_status(const std::string& what, WriteStatus expected, const WriteResult& result) {
    static const std::vector<std::string> words = {"stored",    "not found", "exists", "changed",
                                                   "unchanged", "rejected",  "failed", "unknown"};
    require_equal("status of the " + what, words.at(static_cast<std::size_t>(expected)),
                  words.at(static_cast<std::size_t>(result.status)) +
                      (result.status != expected && result.error ? std::string(": ") + result.error->what() : ""));
  }

  void remove(Random& random) {
    std::vector<Uuid> ids(1 + random.below(4));
    std::generate(ids.begin(), ids.end(), [&] { return pick_id(random); });
    done_.push_back(fmt::format("remove {}", fmt::join(texts_of(ids), " ")));
    const std::vector<WriteResult> results = random.one_in(2) ? stream_.remove(ids) : store_->remove(ids);
    require_equal("results of the remove", ids.size(), results.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      require_status("remove of " + to_string(ids[i]), reference_.remove(ids[i]), results[i]);
    }
  }

  void get(Random& random) {
    std::vector<Uuid> ids(1 + random.below(8));
    std::generate(ids.begin(), ids.end(), [&] { return pick_id(random); });
    done_.push_back(fmt::format("get {}", fmt::join(texts_of(ids), " ")));
    check_get(ids);
  }

  void check_get(const std::vector<Uuid>& ids) {
    const auto found = store_->get(ids);
    require_equal("results of the get", ids.size(), found.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      require_equal("get of " + to_string(ids[i]), reference_.get(ids[i]).value_or("nothing"),
                    found[i] ? found[i]->json : "nothing");
    }
  }

  static std::string pick_table(Random& random) { return fmt::format("index_{}", random.below(3)); }

  void query(Random& random) {
    const std::string table = pick_table(random);
    const auto index = reference_.indexes().find(table);
    if (index == reference_.indexes().end() || !index->second.ready) {
      done_.push_back("query " + table);
      return require_error(ErrorCode::bad_index, [&] {
        Query query;
        query.index = table;
        store_->query(query, [](const auto&) { return true; });
      });
    }
    for (int i = 0; i < 30; ++i) {
      const Query query = random_query(random, index->second.definition, reference_);
      done_.push_back(describe(query));
      check_query(query);
    }
  }

  void check_query(const Query& query) {
    std::vector<Uuid> found;
    store_->query(query, [&](const Entity& entity) {
      require_equal("body given by " + describe(query), reference_.get(entity.id).value_or("nothing"), entity.json);
      found.push_back(entity.id);
      return true;
    });
    require_equal(describe(query), texts_of(reference_.query(query)), texts_of(found));
    ++tally_.queries;
    tally_.found += found.size();
  }

  static void require_error(ErrorCode code, const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return require_equal(error.what(), static_cast<int>(code), static_cast<int>(error.code()));
    }
    throw Mismatch("no error");
  }

  void create(Random& random) {
    const std::string table = pick_table(random);
    const auto there = reference_.indexes().find(table);
    const bool again = there != reference_.indexes().end() && random.one_in(2);
    const IndexDefinition definition = again ? there->second.definition : random_definition(random, taste_, table);
    done_.push_back("create " + definition.canonical_json());
    const bool is_new = there == reference_.indexes().end();
    if (!is_new && definition != there->second.definition) {
      return require_error(ErrorCode::bad_definition, [&] { store_->create_indexes({definition}); });
    }
    const bool ready = is_new ? reference_.is_empty() : there->second.ready;
    const CreateReport report = store_->create_indexes({definition}).front();
    require_equal("created", is_new, report.created);
    require_equal("state", to_string(ready ? IndexState::ready : IndexState::building), to_string(report.state));
    reference_.indexes()[table] = {definition, ready};
  }

  void backfill(Random& random) {
    BackfillOptions options;
    options.restart = random.one_in(3);
    const bool stop = random.one_in(3);
    done_.push_back(fmt::format("backfill{}{}", options.restart ? " --restart" : "", stop ? ", stopped" : ""));
    JobControl control;
    control.on_progress = [&](const Progress& now) { control.stop = stop && now.done > 0; };
    BackfillReport report;
    try {
      report = store_->backfill(options, control);
    } catch (const Error& error) {
      if (!stop || error.code() != ErrorCode::interrupted) {
        throw;
      }
      ++tally_.stopped;
      return status();
    }
    std::vector<std::string> expected;
    std::map<std::string, std::uint64_t> conflicts, found;
    for (auto& [table, index] : reference_.indexes()) {
      if (const std::uint64_t rows = rows_in_conflict(index.definition); !index.ready && rows > 0) {
        conflicts[table] = rows;
      } else if (!index.ready) {
        expected.push_back(table);
        index.ready = true;
      }
    }
    std::sort(report.ready.begin(), report.ready.end());
    require_equal("indexes that the backfill made ready", expected, report.ready);
    for (const auto& [table, of_table] : report.conflicts) {
      found[table] = of_table.rows;
      require_equal("examples of conflicts", std::min<std::uint64_t>(of_table.rows, 20), of_table.examples.size());
    }
    require_equal("rows that other entities' rows keep out", conflicts, found);
    tally_.conflicts += conflicts.size();
  }

  // Of entities that have the same values of a unique index, one has the row.
  std::uint64_t rows_in_conflict(const IndexDefinition& definition) {
    std::size_t rows = 0;
    std::set<std::vector<PropertyValue>> values;
    for (const auto& of_shard : reference_.table(definition)) {
      rows += of_shard.size();
      for (const ReferenceRow& row : of_shard) {
        values.insert(row.values);
      }
    }
    return definition.unique ? rows - values.size() : 0;
  }

  void drop(Random& random) {
    const std::string table = pick_table(random);
    const DropOptions options{.keep_table = random.one_in(4)};
    done_.push_back("drop " + table + (options.keep_table ? " --keep-table" : ""));
    if (reference_.indexes().erase(table) == 0) {
      return require_error(ErrorCode::bad_index, [&] { store_->drop_index(table, options); });
    }
    store_->drop_index(table, options);
  }

  void clean(bool full) {
    done_.emplace_back(full ? "clean --full" : "clean");
    JobControl control;
    const CleanReport report = store_->clean({.full = full}, control);
    const auto& indexes = reference_.indexes();
    if (std::all_of(indexes.begin(), indexes.end(), [](const auto& index) { return index.second.ready; })) {
      require_equal("rows that the clean inserted", std::uint64_t{0}, report.inserted());
    }
  }

  // Of all that are deleted, as if that were two days ago.
  void purge() {
    done_.emplace_back("clean, two days later");
    fixture_.cluster.everywhere(
        "UPDATE entities SET updated = updated - INTERVAL 2 DAY WHERE body IS NULL; "
        "UPDATE looseleaf_progress SET barrier = barrier - INTERVAL 3 DAY WHERE job = 'purge'");
    JobControl control;
    const std::uint64_t expected = reference_.purge();
    require_equal("tombstones that were purged", expected, store_->clean({}, control).purged);
    tally_.purged += expected;
  }

  // Nobody works on anything between two steps.
  void status() {
    done_.emplace_back("status");
    const Status status = store_->status();
    require_equal("shards", std::size_t{fixture_.cluster.shards()}, status.shards.size());
    std::vector<std::string> expected;
    for (const auto& [table, index] : reference_.indexes()) {
      expected.push_back(fmt::format("{} {}", index.ready ? "ready" : "building", index.definition.canonical_json()));
    }
    for (const ShardStatus& shard : status.shards) {
      require_equal("state of a shard", to_string(ShardState::up), to_string(shard.state));
      std::vector<std::string> indexes;
      for (const IndexStatus& index : shard.indexes) {
        indexes.push_back(fmt::format("{} {}", to_string(index.state), index.definition));
        require_equal("generation of " + index.table, status.shards.front().indexes.at(indexes.size() - 1).generation,
                      index.generation);
      }
      require_equal(fmt::format("indexes on shard {}", shard.shard), expected, indexes);
      for (const JobStatus& job : shard.jobs) {
        const auto index = reference_.indexes().find(job.table);
        const bool left_half_done = index != reference_.indexes().end() && !index->second.ready;
        require_equal("job", std::string(left_half_done ? "backfill, held by ''" : "none"),
                      fmt::format("{}, held by '{}'", job.job, job.holder));
      }
    }
  }

  VerifyReport run_verify(bool repair) {
    VerifyOptions options;
    options.repair = repair;
    options.grace_seconds = 0;
    options.samples = std::numeric_limits<std::uint64_t>::max();
    JobControl control;
    return store_->verify(options, control);
  }

  void verify() {
    done_.emplace_back("verify");
    const VerifyReport report = run_verify(false);
    require_findings({}, finding_texts(report.findings));
    std::vector<std::string> ready;
    for (const auto& [table, index] : reference_.indexes()) {
      if (index.ready) {
        ready.push_back(table);
      }
    }
    std::vector<std::string> verified = report.verified;
    std::sort(verified.begin(), verified.end());
    require_equal("indexes verified", ready, verified);
  }

  [[nodiscard]] ReferenceTable read_table(const IndexDefinition& definition) {
    ReferenceTable table(fixture_.cluster.shards());
    shard::Shards shards = fixture_.shards(patience);
    std::string columns;
    for (const Property& property : definition.properties) {
      columns += sql::quote_identifier(property.name) + ", ";
    }
    for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
      const shard::Lease lease = shards.connect(shard, shards.deadline());
      (*lease).select();
      const sql::Result rows = lease->query(fmt::format("SELECT {}entity_id FROM {}", columns, definition.table));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        table[shard].insert(read_row(definition, rows, i));
      }
    }
    return table;
  }

  static ReferenceRow read_row(const IndexDefinition& definition, const sql::Result& rows, std::size_t i) {
    ReferenceRow row;
    const std::size_t width = definition.properties.size();
    for (std::size_t column = 0; column < width; ++column) {
      row.values.push_back(read_value(definition.properties[column].type, rows.text(i, column)));
    }
    row.entity_id = read_id(rows.text(i, width));
    return row;
  }

  static Uuid read_id(const std::string& bytes) { return Uuid::from_bytes(bytes).value(); }

  // No process died, so no put has left a row behind; and a building index may lack rows.
  void check_tables() {
    done_.emplace_back("look at the tables");
    for (const auto& [table, index] : reference_.indexes()) {
      std::vector<std::string> expected = row_texts(reference_.table(index.definition));
      std::vector<std::string> found = row_texts(read_table(index.definition));
      if (!index.ready) {
        std::vector<std::string> both;
        std::set_intersection(expected.begin(), expected.end(), found.begin(), found.end(), std::back_inserter(both));
        expected = both;
      }
      require_rows("rows of " + table, expected, found, [](const std::string&) { return true; });
    }
    std::vector<Uuid> ids;
    for (const auto& [id, entity] : reference_.entities()) {
      ids.push_back(id);
    }
    check_get(ids);
  }

  void damage(Random& random) {
    const auto index = reference_.indexes().find(pick_table(random));
    if (index == reference_.indexes().end() || !index->second.ready) {
      return;
    }
    const IndexDefinition& definition = index->second.definition;
    for (std::size_t count = 1 + random.below(4); count > 0; --count) {
      const auto shard = static_cast<std::uint32_t>(random.below(fixture_.cluster.shards()));
      const std::string sql = random_damage(random, definition);
      done_.push_back(fmt::format("sql on shard {}: {}", shard, sql));
      fixture_.cluster.sql(shard, sql);
    }
    check_repair(definition);
  }

  std::string random_damage(Random& random, const IndexDefinition& definition) {
    std::vector<ReferenceRow> rows;
    for (const auto& of_shard : reference_.table(definition)) {
      rows.insert(rows.end(), of_shard.begin(), of_shard.end());
    }
    if (rows.empty() || random.one_in(3)) {
      return fmt::format("DELETE FROM {} ORDER BY entity_id{} LIMIT {}", definition.table,
                         random.one_in(2) ? " DESC" : "", 1 + random.below(3));
    }
    ReferenceRow row = random.pick(rows);
    if (!random.one_in(3)) {
      row.entity_id = random.one_in(3) ? Uuid::make_v7() : pick_id(random);
    }
    return fmt::format("INSERT IGNORE INTO {} VALUES {}", definition.table, sql_literal(row));
  }

  void check_repair(const IndexDefinition& definition) {
    const std::multiset<std::string> expected = expected_findings(definition);
    done_.emplace_back("verify, verify --repair");
    require_findings(expected, finding_texts(run_verify(false).findings));
    tally_.findings += expected.size();
    const VerifyReport report = run_verify(true);
    require_equal("findings that were mended", expected, finding_texts(report.mended));
    require_equal("findings that were not mended", std::multiset<std::string>(), finding_texts(report.findings));
    check_tables();
  }

  static bool has_row_of(const ReferenceTable& table, const Uuid& id) {
    return std::any_of(table.begin(), table.end(), [&](const auto& rows) {
      return std::any_of(rows.begin(), rows.end(), [&](const ReferenceRow& row) { return row.entity_id == id; });
    });
  }

  std::multiset<std::string> expected_findings(const IndexDefinition& definition) {
    const ReferenceTable expected = reference_.table(definition), found = read_table(definition);
    std::multiset<std::string> findings;
    for (std::size_t shard = 0; shard < expected.size(); ++shard) {
      const auto add = [&](const char* kind, const ReferenceRow& row) {
        findings.insert(fmt::format("{} {} {} {}", kind, definition.table, shard, to_string(row.entity_id)));
      };
      for (const ReferenceRow& row : expected[shard]) {
        if (!found[shard].contains(row)) {
          add("missing", row);
        }
      }
      for (const ReferenceRow& row : found[shard]) {
        const bool called_for =
            std::any_of(expected.begin(), expected.end(), [&](const auto& rows) { return rows.contains(row); });
        if (!expected[shard].contains(row)) {
          const bool duplicate = definition.immutable && has_row_of(expected, row.entity_id);
          add(!reference_.is_known(row.entity_id) ? "orphan"
              : called_for                        ? "misplaced"
              : duplicate                         ? "duplicate"
                                                  : "stale",
              row);
        }
      }
    }
    return findings;
  }

  StoreFixture fixture_;
  Datastore first_ = fixture_.open(patience);
  Datastore other_ = fixture_.open(patience);
  Datastore third_ = fixture_.open(patience);
  LongStream stream_{third_};
  Datastore* store_ = &first_;
  Reference reference_;
  const Taste taste_;
  Tally& tally_;
  std::vector<std::string> done_;
};

}  // namespace

std::optional<Failure> run_steps(std::uint32_t shards, const Taste& taste, const std::vector<Step>& steps,
                                 Tally& tally) {
  Pair pair(shards, taste, tally);
  bool slow = false;
  Step::Kind kind{};
  auto begin = std::chrono::steady_clock::now();
  const auto time_step = [&] {
    const auto now = std::chrono::steady_clock::now();
    const bool writes_rows = kind != Step::Kind::create && kind != Step::Kind::drop && kind != Step::Kind::init;
    slow = (now - std::exchange(begin, now) > slow_step && writes_rows) || slow;
  };
  try {
    try {
      for (const Step& step : steps) {
        kind = step.kind;
        pair.take(step);
        time_step();
        ++tally.steps;
      }
    } catch (const MoreRows& error) {
      time_step();
      pair.take({Step::Kind::full_clean, 0});
      pair.take({Step::Kind::tables, 0});  // all of them have gone
      return Failure{error.what(), slow, pair.done()};
    }
  } catch (const Error& error) {
    std::string what = error.what();
    for (const auto& [key, value] : error.context()) {
      what += fmt::format("\n    {}: {}", key, value);
    }
    return Failure{what, false, pair.done()};
  } catch (const std::exception& error) {
    return Failure{error.what(), false, pair.done()};
  }
  return std::nullopt;
}

}  // namespace looseleaf::test

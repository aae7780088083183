// Does verify find every fault, under its right name, and nothing else? Faults of every kind are planted by SQL.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "base/hex.hpp"
#include "shard/shards.hpp"
#include "tests/support/proof.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;
using Strings = std::vector<std::string>;

constexpr std::uint32_t shards = 4;

struct Column {
  std::string name;
  enum class Type { uuid, text, number, flag } type;
};

struct Index {
  std::string definition, table;
  std::vector<Column> columns;
  bool immutable = false;
};

const std::vector<Index> indexes = {
    {R"({"table": "by_owner", "properties": [{"name": "owner", "type": "uuid"}], "shard_on": "owner", "immutable": true})",
     "by_owner",
     {{"owner", Column::Type::uuid}},
     true},
    {R"({"table": "by_feed", "properties": [{"name": "feed", "type": "string", "max_length": 12},
         {"name": "at", "type": "int"}, {"name": "seen", "type": "bool"}], "shard_on": "feed"})",
     "by_feed",
     {{"feed", Column::Type::text}, {"at", Column::Type::number}, {"seen", Column::Type::flag}}},
    {R"({"table": "by_tags", "properties": [{"name": "tags", "type": "string", "each": true}]})",
     "by_tags",
     {{"tags", Column::Type::text}}},
};

// A row of an index table; values are hexadecimal for uuid and text.
struct Row {
  std::size_t index = 0;
  std::uint32_t shard = 0;
  Strings values;
  std::string id;

  auto operator<=>(const Row&) const = default;
};

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(base::hex_digit(digits[i]) * 16 + base::hex_digit(digits[i + 1]));
  }
  return bytes;
}

std::string json_value(const Column& column, const std::string& value) {
  switch (column.type) {
    case Column::Type::uuid:
      return '"' + value + '"';
    case Column::Type::text:
      return '"' + from_hex(value) + '"';
    case Column::Type::number:
      return value;
    case Column::Type::flag:
      return value == "1" ? "true" : "false";
  }
  return {};
}

std::string finding_text(const std::string& kind, const Row& row) {
  Strings values;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    values.push_back(json_value(indexes[row.index].columns[i], row.values[i]));
  }
  return fmt::format("{} {} {} {} [{}]", kind, indexes[row.index].table, row.shard, row.id, fmt::join(values, ","));
}

std::string finding_text(const Finding& finding) {
  const bool of_row = !finding.index.empty();
  return fmt::format("{} {} {} {}{}", to_string(finding.kind), finding.index, finding.shard,
                     to_string(finding.entity_id), of_row ? " " + finding.values : "");
}

class Mutation {
 public:
  Mutation(std::uint64_t seed, std::size_t entities) : random_(seed), fixture_(shards), shards_(fixture_.shards()) {
    for (const Index& index : indexes) {
      fixture_.create_index(index.definition);
    }
    WriteStream stream(fixture_.datastore,
                       [](const WriteResult& result) { CHECK(result.status == WriteStatus::stored); });
    for (std::size_t i = 0; i < entities; ++i) {
      ids_.push_back(hex(32));
      stream.put(entity(ids_.back()));
    }
    stream.finish();
    rows_ = read_rows();
    for (const Row& row : rows_) {
      rows_of_[row.id].push_back(row);
    }
    std::shuffle(ids_.begin(), ids_.end(), random_);
  }

  // One fault after the other, each at entities of its own.
  void plant(std::size_t faults) {
    const std::vector<void (Mutation::*)()> kinds = {
        &Mutation::lose,      &Mutation::leave_behind, &Mutation::make_orphan,   &Mutation::misplace,
        &Mutation::move_away, &Mutation::swap_values,  &Mutation::add_duplicate, &Mutation::spoil_body,
        &Mutation::change_id, &Mutation::stray};
    for (planted_ = 0; planted_ < faults; ++planted_) {
      (this->*kinds[planted_ % kinds.size()])();
    }
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      run(shard, sql_[shard]);
    }
  }

  VerifyReport verify(bool repair) {
    found_.clear();
    VerifyOptions options;
    options.repair = repair;
    options.grace_seconds = 0;
    options.on_finding = [this](const Finding& finding) { found_.insert(finding_text(finding)); };
    JobControl control;
    return fixture_.datastore.verify(options, control);
  }

  void check_found() const {
    Strings passed_over, not_planted;
    std::set_difference(expected_.begin(), expected_.end(), found_.begin(), found_.end(),
                        std::back_inserter(passed_over));
    std::set_difference(found_.begin(), found_.end(), expected_.begin(), expected_.end(),
                        std::back_inserter(not_planted));
    passed_over.resize(std::min<std::size_t>(passed_over.size(), 10));
    not_planted.resize(std::min<std::size_t>(not_planted.size(), 10));
    CHECK_MESSAGE(passed_over.empty(), fmt::format("passed over: {}", fmt::join(passed_over, "\n")));
    CHECK_MESSAGE(not_planted.empty(), fmt::format("not planted: {}", fmt::join(not_planted, "\n")));
  }

  // No repair mends bodies.
  void restore_entities() {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      run(shard, undo_[shard]);
    }
  }

  [[nodiscard]] std::vector<Row> read_rows() {
    std::vector<Row> rows;
    for (std::size_t index = 0; index < indexes.size(); ++index) {
      std::string columns;
      for (const Column& column : indexes[index].columns) {
        const bool as_hex = column.type == Column::Type::uuid || column.type == Column::Type::text;
        columns += as_hex ? fmt::format("LOWER(HEX({})), ", column.name) : column.name + ", ";
      }
      for (std::uint32_t shard = 0; shard < shards; ++shard) {
        const auto lease = shards_.connect(shard, shards_.deadline());
        (*lease).select();
        const auto result =
            lease->query(fmt::format("SELECT {}LOWER(HEX(entity_id)) FROM {}", columns, indexes[index].table));
        for (std::size_t i = 0; i < result.size(); ++i) {
          Row row{index, shard, {}, result.text(i, indexes[index].columns.size())};
          for (std::size_t column = 0; column < indexes[index].columns.size(); ++column) {
            row.values.push_back(result.text(i, column));
          }
          rows.push_back(std::move(row));
        }
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  void build_afresh() {
    for (const Index& index : indexes) {
      fixture_.datastore.drop_index(index.table);
      fixture_.create_index(index.definition);
    }
    JobControl control;
    CHECK(fixture_.datastore.backfill({}, control).ready.size() == indexes.size());
  }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const std::multiset<std::string>& expected() const { return expected_; }
  [[nodiscard]] const std::multiset<std::string>& found() const { return found_; }

 private:
  std::string hex(std::size_t digits) {
    std::string text(digits, '0');
    for (char& digit : text) {
      digit = "0123456789abcdef"[random_() % 16];
    }
    return text;
  }

  // Every entity has an owner and a feed, and from one to three tags.
  std::string entity(const std::string& id) {
    Strings tags = {fmt::format("\"t{}\"", random_() % 50)};
    for (std::size_t i = random_() % 3; i > 0; --i) {
      tags.push_back(fmt::format("\"ü{}\"", random_() % 9));
    }
    return fmt::format(R"({{"id":"{}","owner":"{}","feed":"feed {} {}","at":{},"seen":{},"tags":[{}]}})", id, hex(32),
                       random_() % 200, std::string(random_() % 9, 'x'), static_cast<int>(random_() % 2000) - 1000,
                       random_() % 2 == 0, fmt::join(tags, ","));
  }

  static std::uint32_t home_of(const std::string& id) {
    return static_cast<std::uint32_t>(std::stoul(id.substr(31), nullptr, 16)) % shards;
  }

  std::string next_entity() {
    const std::string id = ids_.back();
    ids_.pop_back();
    return id;
  }

  Row row_of(const std::string& id) {
    const std::vector<Row>& rows = rows_of_.at(id);
    return rows[random_() % rows.size()];
  }

  // A row of an entity that has not been used yet.
  Row next_row() { return row_of(next_entity()); }
  Row next_row_of(std::size_t index) {
    while (true) {
      const std::vector<Row>& rows = rows_of_.at(next_entity());
      const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.index == index; });
      if (found != rows.end()) {
        return *found;
      }
    }
  }

  static std::string text_of(const Row& row) {
    std::string text;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const auto type = indexes[row.index].columns[i].type;
      const bool bytes = type == Column::Type::uuid || type == Column::Type::text;
      text += bytes ? fmt::format("x'{}', ", row.values[i]) : row.values[i] + ", ";
    }
    return fmt::format("({}x'{}')", text, row.id);
  }

  void insert(const Row& row) {
    sql_[row.shard].push_back(fmt::format("INSERT INTO {} VALUES {}", indexes[row.index].table, text_of(row)));
  }

  void erase(const Row& row) {
    std::string columns;
    for (const Column& column : indexes[row.index].columns) {
      columns += column.name + ", ";
    }
    sql_[row.shard].push_back(
        fmt::format("DELETE FROM {} WHERE ({}entity_id) = {}", indexes[row.index].table, columns, text_of(row)));
  }

  // Another value of the first property, as long as it was.
  void change_value(Row& row) {
    std::string& value = row.values.front();
    value = indexes[row.index].columns.front().type == Column::Type::uuid
                ? hex(32)
                : base::to_hex(fmt::format("z{:0{}}", planted_, value.size() / 2 - 1).substr(0, 12));
  }

  static std::uint32_t other_shard(std::uint32_t shard, std::uint64_t by) {
    return static_cast<std::uint32_t>((shard + 1 + by % (shards - 1)) % shards);
  }

  void expect(const std::string& kind, const Row& row) { expected_.insert(finding_text(kind, row)); }
  static const char* extra(const Row& row) { return indexes[row.index].immutable ? "duplicate" : "stale"; }

  void lose() {
    const Row row = next_row();
    erase(row);
    expect("missing", row);
  }

  void leave_behind() {
    Row row = next_row_of(1 + random_() % 2);
    change_value(row);
    row.shard = static_cast<std::uint32_t>(random_() % shards);
    insert(row);
    expect("stale", row);
  }

  void make_orphan() {
    Row row = next_row();
    row.id = hex(32);
    row.shard = static_cast<std::uint32_t>(random_() % shards);
    insert(row);
    expect("orphan", row);
  }

  void misplace() {
    Row row = next_row();
    row.shard = other_shard(row.shard, random_());
    insert(row);
    expect("misplaced", row);
  }

  void move_away() {
    Row row = next_row();
    erase(row);
    expect("missing", row);
    row.shard = other_shard(row.shard, random_());
    insert(row);
    expect("misplaced", row);
  }

  // Of two rows of one table: neither the number of rows nor the XOR of anything linear changes.
  void swap_values() {
    const Row one = next_row();
    Row other, one_after = one, other_after;
    do {
      other = other_after = next_row_of(one.index);
      one_after.id = other.id;
      other_after.id = one.id;
    } while (other.shard != one.shard || is_healthy(one_after) || is_healthy(other_after));
    for (const Row& row : {one, other}) {
      erase(row);
      expect("missing", row);
    }
    for (const Row& row : {one_after, other_after}) {
      insert(row);
      expect(extra(row), row);
    }
  }

  [[nodiscard]] bool is_healthy(const Row& row) const { return std::binary_search(rows_.begin(), rows_.end(), row); }

  void add_duplicate() {
    Row row = next_row_of(0);
    const std::uint32_t taken = row.shard;
    change_value(row);
    row.shard = other_shard(taken, random_());  // on its own shard UNIQUE forbids it
    insert(row);
    expect("duplicate", row);
  }

  void set_body(const std::string& id, const std::string& body) {
    const std::uint32_t shard = home_of(id);
    const auto lease = shards_.connect(shard, shards_.deadline());
    (*lease).select();
    const auto old = lease->query(fmt::format("SELECT HEX(body) FROM entities WHERE id = x'{}'", id));
    sql_[shard].push_back(fmt::format("UPDATE entities SET body = {} WHERE id = x'{}'", body, id));
    undo_[shard].push_back(fmt::format("UPDATE entities SET body = x'{}' WHERE id = x'{}'", old.text(0, 0), id));
  }

  void expect_broken(const std::string& kind, std::uint32_t shard, const std::string& id) {
    expected_.insert(fmt::format("{}  {} {}", kind, shard, id));
  }

  void spoil_body() {
    const std::string id = next_entity();
    set_body(id, planted_ % 3 == 0 ? "''" : planted_ % 3 == 1 ? "x'0500000078'" : "COMPRESS('[1]')");
    expect_broken("unreadable", home_of(id), id);
  }

  void change_id() {
    const std::string id = next_entity();
    set_body(id, fmt::format("COMPRESS(REPLACE(UNCOMPRESS(body), '{}', '{}'))", id, hex(32)));
    expect_broken("wrong_id", home_of(id), id);
  }

  // An entity on a shard that its id does not lead to. It has no rows.
  void stray() {
    const std::string id = hex(32);
    const std::uint32_t shard = other_shard(home_of(id), random_());
    sql_[shard].push_back(fmt::format(
        "INSERT INTO entities (id, updated, body) VALUES (x'{0}', NOW(6), COMPRESS('{{\"id\":\"{0}\"}}'))", id));
    undo_[shard].push_back(fmt::format("DELETE FROM entities WHERE id = x'{}'", id));
    expect_broken("wrong_shard", shard, id);
  }

  void run(std::uint32_t shard, const Strings& statements) {
    const auto lease = shards_.connect(shard, shards_.deadline());
    (*lease).select();
    lease->execute("BEGIN");
    for (const std::string& statement : statements) {
      lease->execute(statement);
    }
    lease->commit();
  }

  std::mt19937_64 random_;
  StoreFixture fixture_;
  shard::Shards shards_;
  Strings ids_;            // not used yet
  std::vector<Row> rows_;  // of the healthy store, sorted
  std::map<std::string, std::vector<Row>> rows_of_;
  std::size_t planted_ = 0;
  std::map<std::uint32_t, Strings> sql_, undo_;
  std::multiset<std::string> expected_, found_;
};

TEST_CASE("verify finds every fault that was planted, under its right name, and no other; repair mends them all") {
  const std::uint64_t seed = run_seed();
  CAPTURE(seed);
  const std::size_t entities = full_run() ? 100'000 : 8'000, faults = full_run() ? 10'000 : 800;
  Mutation mutation(seed, entities);
  CHECK(mutation.verify(false).found == 0);
  mutation.plant(faults);
  const auto start = Clock::now();
  const VerifyReport report = mutation.verify(false);
  const std::chrono::duration<double> seconds = Clock::now() - start;
  mutation.check_found();
  CHECK(report.found == mutation.expected().size());
  CHECK(report.in_flight == 0);
  mutation.restore_entities();
  CHECK(mutation.verify(true).found == 0);
  CHECK(mutation.verify(false).found == 0);
  CHECK((mutation.read_rows() == mutation.rows()));
  mutation.build_afresh();
  CHECK((mutation.read_rows() == mutation.rows()));
  log_proof("verify_mutation", {{"entities", fmt::format("{}", entities)},
                                {"faults planted", fmt::format("{}", faults)},
                                {"findings expected", fmt::format("{}", mutation.expected().size())},
                                {"findings that verify made", fmt::format("{}", report.found)},
                                {"seconds to find them", fmt::format("{:.1f}", seconds.count())}});
}

}  // namespace
}  // namespace looseleaf::test

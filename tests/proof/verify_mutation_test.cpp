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

const std::vector<IndexDefinition> indexes = {
    IndexDefinition::parse(R"({"table": "by_owner", "properties": [{"name": "owner", "type": "uuid"}],
                               "shard_on": "owner", "immutable": true})",
                           "test"),
    IndexDefinition::parse(R"({"table": "by_feed", "properties": [{"name": "feed", "type": "string", "max_length": 12},
                               {"name": "at", "type": "int"}, {"name": "seen", "type": "bool"}], "shard_on": "feed"})",
                           "test"),
    IndexDefinition::parse(R"({"table": "by_tags", "properties": [{"name": "tags", "type": "string", "each": true}]})",
                           "test"),
};

// A row of an index table; values are as text, hexadecimal for uuids.
struct Row {
  std::size_t index = 0;
  std::uint32_t shard = 0;
  Strings values;
  std::string id;

  auto operator<=>(const Row&) const = default;
};

std::string json_value(const Property& property, const std::string& value) {
  return property.type == PropertyType::boolean   ? (value == "1" ? "true" : "false")
         : property.type == PropertyType::integer ? value
                                                  : '"' + value + '"';
}

std::string finding_text(const std::string& kind, const Row& row) {
  Strings values;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    values.push_back(json_value(indexes[row.index].properties[i], row.values[i]));
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
    fixture_.datastore.create_indexes(indexes);
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
    run(sql_);
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
    const auto only_in = [](const auto& one, const auto& other) {
      Strings texts;
      std::set_difference(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(texts));
      texts.resize(std::min<std::size_t>(texts.size(), 10));
      return fmt::format("{}", fmt::join(texts, "\n"));
    };
    CHECK(only_in(expected_, found_) == "");  // passed over
    CHECK(only_in(found_, expected_) == "");  // not planted
  }

  // No repair mends bodies.
  void restore_entities() { run(undo_); }

  [[nodiscard]] std::vector<Row> read_rows() {
    std::vector<Row> rows;
    for (std::size_t index = 0; index < indexes.size(); ++index) {
      std::string columns;
      const std::vector<Property>& properties = indexes[index].properties;
      for (const Property& property : properties) {
        const bool as_hex = property.type == PropertyType::uuid;
        columns += as_hex ? fmt::format("LOWER(HEX({})), ", property.name) : property.name + ", ";
      }
      for (std::uint32_t shard = 0; shard < shards; ++shard) {
        const auto lease = shards_.connect(shard, shards_.deadline());
        (*lease).select();
        const auto result =
            lease->query(fmt::format("SELECT {}LOWER(HEX(entity_id)) FROM {}", columns, indexes[index].table));
        for (std::size_t i = 0; i < result.size(); ++i) {
          Row row{index, shard, {}, result.text(i, properties.size())};
          for (std::size_t column = 0; column < properties.size(); ++column) {
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
    for (const IndexDefinition& index : indexes) {
      fixture_.datastore.drop_index(index.table);
    }
    fixture_.datastore.create_indexes(indexes);
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
      const PropertyType type = indexes[row.index].properties[i].type;
      const std::string& value = row.values[i];
      text += type == PropertyType::uuid     ? fmt::format("x'{}', ", value)
              : type == PropertyType::string ? fmt::format("x'{}', ", base::to_hex(value))
                                             : value + ", ";
    }
    return fmt::format("({}x'{}')", text, row.id);
  }

  void insert(const Row& row) {
    sql_[row.shard].push_back(fmt::format("INSERT INTO {} VALUES {}", indexes[row.index].table, text_of(row)));
  }

  void erase(const Row& row) {
    std::string columns;
    for (const Property& property : indexes[row.index].properties) {
      columns += property.name + ", ";
    }
    sql_[row.shard].push_back(
        fmt::format("DELETE FROM {} WHERE ({}entity_id) = {}", indexes[row.index].table, columns, text_of(row)));
  }

  // Another value of the first property, as long as it was.
  void change_value(Row& row) {
    std::string& value = row.values.front();
    value = indexes[row.index].properties.front().type == PropertyType::uuid
                ? hex(32)
                : fmt::format("z{:0{}}", planted_, value.size() - 1).substr(0, 12);
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

  void run(const std::map<std::uint32_t, Strings>& statements) {
    for (const auto& [shard, of_shard] : statements) {
      const auto lease = shards_.connect(shard, shards_.deadline());
      (*lease).select();
      lease->execute("BEGIN");
      for (const std::string& statement : of_shard) {
        lease->execute(statement);
      }
      lease->commit();
    }
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

// The scenarios. Entity k lives on shard k % shards.
#include "tests/proof/kill_scenarios.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <looseleaf/datastore.hpp>
#include <stdexcept>

#include "tests/support/entities.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* by_c = R"({"table": "by_c", "properties": [{"name": "c", "type": "string"}]})";
constexpr const char* by_tag =
    R"({"table": "by_tag", "properties": [{"name": "tags", "type": "int", "each": true}], "shard_on": "tags"})";
constexpr const char* by_owner =
    R"({"table": "by_owner", "properties": [{"name": "owner", "type": "int"}], "shard_on": "owner", "immutable": true})";
constexpr const char* by_m = R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}], "shard_on": "m"})";
constexpr const char* by_u =
    R"({"table": "by_u", "properties": [{"name": "u", "type": "int"}], "shard_on": "u", "immutable": true, "unique": true})";
// Other definitions of the same names.
constexpr const char* by_n_other = R"({"table": "by_n", "properties": [{"name": "c", "type": "string"}]})";
constexpr const char* by_m_other = R"({"table": "by_m", "properties": [{"name": "c", "type": "string"}]})";

struct Values {
  int n = 0;
  std::string c;
  std::vector<int> tags;
  std::optional<int> owner;
};

std::string entity_with(std::uint64_t number, const Values& values) {
  return entity(
      id_of(number),
      fmt::format(R"("n":{},"c":"{}","tags":[{}],"m":{},"u":{}{})", values.n, values.c, fmt::join(values.tags, ","),
                  number % 5, number + 7, values.owner ? fmt::format(R"(,"owner":{})", *values.owner) : std::string()));
}

std::string before(int number) {
  const std::optional<int> owner = number == 3 ? std::nullopt : std::optional(number);
  return entity_with(number, {10 + number, "before", {1, 2, 3}, owner});
}

KillWrite put(int number, const Values& values) {
  return {id_of(number), entity_with(number, values)};
}

std::string row(int value, int number) {
  return fmt::format("({}, x'{}')", value, id_of(number));
}

void create_indexes(Bench& bench) {
  bench.datastore.create_indexes({IndexDefinition::parse(by_n_unique, "test"), IndexDefinition::parse(by_c, "test"),
                                  IndexDefinition::parse(by_tag, "test"), IndexDefinition::parse(by_owner, "test")});
}

// Six entities, one of them without an owner, and four indexes that are ready.
void fill(Bench& bench) {
  create_indexes(bench);
  bench.put({before(0), before(1), before(2), before(3), before(4), before(5)});
}

// As after a restore from a backup that is older than the index.
void lose_an_index(Bench& bench) {
  fill(bench);
  bench.sql(1, "DROP TABLE by_n");
  bench.sql(1, "DELETE FROM looseleaf_index WHERE table_name = 'by_n'");
  bench.sql(1, "UPDATE looseleaf_shard SET epoch = epoch + 1");
}

// Extra rows of every kind, none of them missing.
void plant_extra_rows(Bench& bench) {
  bench.sql(0, "INSERT INTO by_n VALUES " + row(90, 0) + ", " + row(92, 1) + ", " + row(94, 100));
  bench.sql(1, "INSERT INTO by_n VALUES " + row(91, 2) + ", " + row(10, 0) + ", " + row(95, 101));
  bench.sql(0, "INSERT INTO by_owner VALUES " + row(96, 100));
  bench.sql(1, "INSERT INTO by_owner VALUES " + row(97, 101));
}

// Entities that have stale rows and are named by cleanup records, and tombstones that are old enough to be purged.
void leave_work_for_clean(Bench& bench) {
  fill(bench);
  bench.looseleaf({"clean"});
  bench.looseleaf({"delete", id_of(4), id_of(5)});
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    bench.sql(shard, "UPDATE entities SET updated = updated - INTERVAL 2 DAY WHERE body IS NULL");
    bench.sql(shard, "UPDATE looseleaf_progress SET barrier = barrier - INTERVAL 3 DAY WHERE job = 'purge'");
  }
  bench.sql(0, "INSERT INTO by_n VALUES " + row(90, 0) + ", " + row(94, 4));
  bench.sql(1, "INSERT INTO by_n VALUES " + row(91, 1) + ", " + row(95, 5));
  bench.sql(0, cleanup_record({id_of(0)}));
  bench.sql(1, cleanup_record({id_of(1)}));
}

// A backfill that has its barriers but nothing else, an entity on each shard that changed since, with the row of what
// it was before, and rows in the way of others in the UNIQUE table: of the same entity, of another one and of none.
void begin_backfill(Bench& bench) {
  fill(bench);
  bench.looseleaf({"create-index", bench.definition("m", by_m), bench.definition("u", by_u)});
  bench.cluster.die_at("backfill.prove:before", {"backfill"});
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    bench.sql(shard, "UPDATE looseleaf_progress SET position = 1000 WHERE job = 'backfill'");
    bench.sql(shard, "DELETE FROM by_m");
    bench.sql(shard, "DELETE FROM by_u");
  }
  bench.put({before(0), before(1)});
  bench.sql(0, "INSERT INTO by_m VALUES " + row(88, 0) + ", " + row(90, 1));
  bench.sql(1, "INSERT INTO by_u VALUES " + row(91, 2));    // 9 is right
  bench.sql(0, "INSERT INTO by_u VALUES " + row(92, 3));    // 10 is right
  bench.sql(1, "INSERT INTO by_u VALUES " + row(11, 100));  // entity 4 calls for it
  bench.sql(0, "INSERT INTO by_u VALUES " + row(12, 0));    // entity 5 calls for it
}

std::vector<Scenario> put_scenarios() {
  const auto store_them = [](Bench&) { return std::vector<std::string>{"put"}; };
  Scenario fresh;
  fresh.name = "put of new ids";
  fresh.prepare = fill;
  fresh.command = store_them;
  fresh.writes = {put(10, {20, "a", {4, 5}, 50}), put(11, {21, "a", {4, 5}, 51}), put(10, {31, "b", {5, 6}, 50}),
                  put(11, {30, "b", {5, 6}, 51})};
  fresh.contested = {20, 31};
  Scenario changed = fresh;
  changed.name = "put with changed values";
  changed.writes = {put(0, {17, "after", {3, 4}, 0}), put(1, {16, "after", {3, 4}, 1}), put(3, {13, "after", {}, 8})};
  changed.contested = {10, 17};
  Scenario same = fresh;
  same.name = "put of the same values";
  same.writes = {{id_of(0), before(0)}, {id_of(1), before(1)}};
  Scenario blocked = fresh;
  blocked.name = "put with rows of others in the way";
  blocked.prepare = [](Bench& bench) {
    fill(bench);
    bench.sql(0, "INSERT INTO by_owner VALUES " + row(100, 10));
    bench.sql(1, "INSERT INTO by_owner VALUES " + row(101, 3));
    bench.sql(0, "INSERT INTO by_n VALUES " + row(20, 100));
    bench.sql(1, "INSERT INTO by_n VALUES " + row(23, 2));
  };
  blocked.writes = {put(10, {20, "a", {4, 5}, 102}), put(3, {23, "before", {1, 2, 3}, 103})};
  Scenario unknown = changed;
  unknown.name = "put whose connection dies at COMMIT";
  unknown.cut_at = "put.commit:before@0#1";
  unknown.only = {"put.resolve"};
  Scenario unknown_too = unknown;
  unknown_too.name = "put whose connection to shard 1 dies at COMMIT";
  unknown_too.cut_at = "put.commit:before@1#1";
  unknown_too.cut_shard = 1;
  Scenario there = fresh;  // as of another put, which may not have heard yet that they are on disk
  there.name = "put of new ids whose rows are there";
  there.prepare = [](Bench& bench) {
    fill(bench);
    bench.sql(0, "INSERT INTO by_n VALUES " + row(20, 10));
    bench.sql(1, "INSERT INTO by_n VALUES " + row(21, 11));
  };
  there.writes = {put(10, {20, "a", {4, 5}, 50}), put(11, {21, "a", {4, 5}, 51})};
  there.only = {"put.insert_index_rows", "put.make_durable", "durable."};
  Scenario batch = changed;  // one batch for both shards of a server
  batch.name = "put of several shards on a server, which takes values that others of it give up";
  batch.shards = 4;
  batch.only = {"put.", "cleanup."};
  batch.writes = {put(0, {17, "after", {3, 4}, 0}), put(1, {16, "after", {3, 4}, 1}), put(4, {10, "after", {5}, 4}),
                  put(3, {11, "after", {}, 8}),     put(10, {20, "a", {4, 5}, 50}),   put(11, {21, "a", {4, 5}, 51}),
                  put(12, {22, "a", {1, 7, 8}, 52})};
  Scenario batch_unknown = batch;
  batch_unknown.name = "put of several shards on a server whose connection dies at COMMIT";
  batch_unknown.cut_at = unknown.cut_at;
  batch_unknown.only = {"put.resolve:before@0", "put.resolve:after@0"};  // the batch may be two, of one shard each
  Scenario absent = fresh;
  absent.name = "put --if-absent";
  absent.command = [](Bench&) { return std::vector<std::string>{"put", "--if-absent"}; };
  absent.writes = {put(10, {20, "a", {4, 5}, 50}), put(11, {21, "a", {4, 5}, 51})};
  absent.statuses = {0, 1};  // what is stored already exists
  absent.only = {"put."};
  Scenario merged = changed;  // all members are given, so the result is what is given
  merged.name = "put --merge";
  merged.command = [](Bench&) { return std::vector<std::string>{"put", "--merge"}; };
  merged.only = {"put."};
  Scenario refused = fresh;
  refused.name = "put of which some are refused";
  refused.writes = {put(10, {20, "a", {4, 5}, 50}), put(11, {21, "a", {4, 5}, 51})};
  refused.statuses = {1};
  refused.only = {"put.insert_index_rows:after", "put.reconcile"};
  std::vector<Scenario> scenarios = {fresh, changed, same,          blocked, unknown, unknown_too,
                                     there, batch,   batch_unknown, absent,  merged,  refused};
  for (Scenario& scenario : scenarios) {
    for (const KillWrite& write : scenario.writes) {
      scenario.input += *write.body + "\n";
    }
  }
  scenarios.back().input +=
      entity_with(12, {11, "a", {4, 5}, 52}) + "\n" + entity_with(13, {10, "a", {4, 5}, 53}) + "\n";
  return scenarios;
}

// The command is idempotent, so what was stored before the kill is unchanged when it is repeated.
Scenario update_scenario() {
  Scenario scenario;
  scenario.name = "update";
  scenario.prepare = fill;
  scenario.command = [](Bench&) {
    return std::vector<std::string>{"update",          id_of(0), id_of(1),           "--", "sed", "-e",
                                    "s/before/after/", "-e",     R"(s/"n":1/"n":2/)"};
  };
  scenario.writes = {put(0, {20, "after", {1, 2, 3}, 0}), put(1, {21, "after", {1, 2, 3}, 1})};
  scenario.only = {"put."};
  return scenario;
}

Scenario delete_scenario() {
  Scenario scenario;
  scenario.name = "delete";
  scenario.prepare = fill;
  scenario.command = [](Bench&) { return std::vector<std::string>{"delete", id_of(0), id_of(1)}; };
  scenario.writes = {{id_of(0), {}}, {id_of(1), {}}};
  scenario.contested = {10, 11};
  scenario.statuses = {0, 1};  // what is deleted already is not found
  return scenario;
}

std::vector<Scenario> create_scenarios() {
  Scenario create;
  create.name = "create-index";
  create.prepare = fill;
  create.command = [](Bench& bench) { return std::vector<std::string>{"create-index", bench.definition("m", by_m)}; };
  Scenario empty = create;
  empty.name = "create-index on an empty store";
  empty.prepare = [](Bench&) {};
  empty.others_write = false;  // it would not be empty any more
  Scenario then_other = create;
  then_other.name = "create-index, then another definition of that name";
  then_other.only = {"create."};
  then_other.recover = [](Bench& bench) {
    const std::string other = bench.definition("m_other", by_m_other);
    bench.looseleaf({"create-index", other}, {0, 2});  // refused if the first came into force
    bench.looseleaf({"drop-index", "--yes", "by_m"});
    bench.looseleaf({"create-index", other, "--backfill"});
  };
  Scenario restored = create;
  restored.name = "create-index of what one shard has lost";
  restored.prepare = lose_an_index;
  restored.command = [](Bench& bench) {
    return std::vector<std::string>{"create-index", bench.definition("n", by_n_unique)};
  };
  restored.only = {"create.publish", "create.finish"};
  Scenario demoting = restored;
  demoting.name = "create-index of what one shard has lost, and still lacks";
  demoting.only = {"create.demote", "create.table"};
  demoting.others_write = false;  // puts are refused, or their rows are lost too
  Scenario filled = create;
  filled.name = "create-index --backfill";
  filled.command = [](Bench& bench) {
    return std::vector<std::string>{"create-index", bench.definition("u", by_u), "--backfill"};
  };
  filled.only = {"create.", "barrier.", "backfill.", "fence."};
  Scenario resumed = create;
  resumed.name = "backfill that goes on";
  resumed.prepare = begin_backfill;
  resumed.command = [](Bench&) { return std::vector<std::string>{"backfill"}; };
  Scenario paced = resumed;
  paced.name = "backfill --max-rate";
  paced.command = [](Bench&) { return std::vector<std::string>{"backfill", "--max-rate", "1000"}; };
  paced.only = {"backfill.insert_index_rows", "backfill.commit_index_rows"};
  return {create, empty, then_other, restored, demoting, filled, resumed, paced};
}

std::vector<Scenario> drop_scenarios() {
  Scenario drop;
  drop.name = "drop-index";
  drop.prepare = fill;
  drop.command = [](Bench&) { return std::vector<std::string>{"drop-index", "--yes", "by_n"}; };
  drop.statuses = {0, 2};  // no such index any more
  Scenario keep = drop;
  keep.name = "drop-index --keep-table";
  keep.command = [](Bench&) { return std::vector<std::string>{"drop-index", "--yes", "--keep-table", "by_n"}; };
  keep.only = {"drop.table"};
  Scenario anew = drop;
  anew.name = "drop-index, then another definition of that name";
  anew.only = {"drop."};
  anew.recover = [](Bench& bench) {
    const std::string other = bench.definition("n_other", by_n_other);
    bench.looseleaf({"create-index", other}, {0, 2});  // refused until the drop is done
    bench.looseleaf({"drop-index", "--yes", "by_n"});
    bench.looseleaf({"create-index", other, "--backfill"});
  };
  return {drop, keep, anew};
}

std::vector<Scenario> job_scenarios() {
  Scenario clean;
  clean.name = "clean";
  clean.prepare = leave_work_for_clean;
  clean.command = [](Bench&) { return std::vector<std::string>{"clean"}; };
  Scenario repair = clean;
  repair.name = "verify --repair";
  repair.prepare = [](Bench& bench) {
    fill(bench);
    plant_extra_rows(bench);
  };
  repair.command = [](Bench&) { return std::vector<std::string>{"verify", "--repair", "--grace", "0"}; };
  Scenario full = repair;
  full.name = "clean --full";
  full.command = [](Bench&) { return std::vector<std::string>{"clean", "--full"}; };
  full.only = {"sweep.look", "fence.commit", "reconcile.commit"};
  full.long_form_only = true;  // it waits for ten seconds before it judges
  Scenario query = clean;
  query.name = "query";
  query.prepare = fill;
  query.command = [](Bench&) { return std::vector<std::string>{"query", "by_n"}; };
  Scenario empty_query = query;  // asks for the index's state in a statement of its own
  empty_query.name = "query without a match";
  empty_query.command = [](Bench&) { return std::vector<std::string>{"query", "by_n", "n>1000"}; };
  Scenario changes = query;
  changes.name = "changes";
  changes.prepare = [](Bench& bench) {
    fill(bench);
    const cli::ProcessResult now = bench.cluster.looseleaf({"changes", "--after", "now"});
    const std::size_t begin = now.out.rfind(':') + 2;
    bench.cluster.directory().write("position", now.out.substr(begin, now.out.rfind('"') - begin));
    bench.put({before(0), before(1)});
  };
  changes.command = [](Bench& bench) {
    return std::vector<std::string>{"changes", "--after", "@" + bench.cluster.directory().path() + "/position"};
  };
  Scenario all = query;
  all.name = "export";
  all.command = [](Bench&) { return std::vector<std::string>{"export"}; };
  return {clean, repair, full, query, empty_query, changes, all};
}

// Nobody but the command changes the state of the shards, and in the end the store takes writes.
std::vector<Scenario> freeze_scenarios() {
  const std::vector<std::string> freeze = {"freeze", "--reason", "a test"};
  const auto open = [](Bench& bench) {
    bench.looseleaf({"thaw"});
    bench.put({before(0), before(1)});
  };
  Scenario frozen;
  frozen.name = "freeze";
  frozen.prepare = fill;
  frozen.command = [=](Bench&) { return freeze; };
  frozen.recover = [=](Bench& bench) {  // half frozen, it is refused
    bench.looseleaf({"thaw"});
    bench.looseleaf(freeze);
    open(bench);
  };
  frozen.others_write = false;
  Scenario thawed = frozen;
  thawed.name = "thaw";
  thawed.prepare = [=](Bench& bench) {
    fill(bench);
    bench.looseleaf(freeze);
  };
  thawed.command = [](Bench&) { return std::vector<std::string>{"thaw"}; };
  thawed.recover = open;
  return {frozen, thawed};
}

}  // namespace

std::vector<std::string> Bench::command(const std::vector<std::string>& arguments) const {
  return joined({looseleaf_program(), "--cluster", cluster.file()}, arguments);
}

void Bench::looseleaf(const std::vector<std::string>& arguments, const std::vector<int>& statuses) {
  const cli::ProcessResult result = run(command(arguments));
  if (std::find(statuses.begin(), statuses.end(), result.status) == statuses.end()) {
    throw std::runtime_error(
        fmt::format("looseleaf {}: status {}\n{}", fmt::join(arguments, " "), result.status, result.err));
  }
}

void Bench::put(const std::vector<std::string>& bodies) {
  for (const WriteResult& result : datastore.put(bodies)) {
    if (result.status != WriteStatus::stored) {
      throw std::runtime_error("a put was not stored: " + std::string(result.error ? result.error->what() : ""));
    }
  }
}

std::string Bench::definition(const std::string& name, const std::string& text) const {
  return cluster.directory().write(name + ".json", text);
}

std::vector<Scenario> kill_scenarios() {
  std::vector<Scenario> scenarios;
  for (const auto& group :
       {create_scenarios(), put_scenarios(), drop_scenarios(), job_scenarios(), freeze_scenarios()}) {
    scenarios.insert(scenarios.end(), group.begin(), group.end());
  }
  scenarios.push_back(update_scenario());
  scenarios.push_back(delete_scenario());
  return scenarios;
}

}  // namespace looseleaf::test

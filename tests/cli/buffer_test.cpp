// put --buffer, flush and refused: entities that are accepted while a server is down take effect once.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <looseleaf/datastore.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* is_down = "warning: a server is down, so new entities are buffered on other servers\n";

// Three shards, each on a server of its own, and an index over all of them.
TestCluster three_servers() {
  TestCluster cluster = initialised_alone(3);
  create_index(cluster, by_n_sharded);
  return cluster;
}

// Buffers entities while the server of a shard is down.
void buffer_while_down(const TestCluster& cluster, std::uint32_t down, const std::string& lines) {
  cluster.sandbox().kill_server(down);
  const cli::ProcessResult result = cluster.looseleaf({"put", "--buffer", "--output", "json"}, lines);
  cluster.sandbox().start_server(down);
  INFO(result.err);
  REQUIRE(result.status == 0);
  REQUIRE(times(R"("status":"buffered")", result.out) == lines_of(lines).size());
}

void check_nothing_left(const TestCluster& cluster) {
  CHECK(rows_of(cluster, "looseleaf_buffer") == 0);
  CHECK(rows_of(cluster, "looseleaf_receipt") == 0);
  check_status(cluster.looseleaf({"clean"}), 0, {"checked"});
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("entities that need a server that is down are kept on the two others, and flush stores them") {
  const TestCluster cluster = three_servers();
  cluster.sandbox().kill_server(1);
  // The second and the fourth are on shard 1, and the row of the third.
  const std::string lines = entity(0, R"("n":0)") + "\n" + entity(1, R"("n":2)") + "\n" + entity(2, R"("n":1)") + "\n" +
                            entity(4, R"("n":1)") + "\n";
  const std::string ids = fmt::format("{}\n{}\n{}\n{}\n", id_of(0), id_of(1), id_of(2), id_of(4));
  check_run(cluster.looseleaf({"put", "--buffer"}, lines), 0, ids,
            {is_down, "  server: ", "  reason: cannot connect to the server\n",
             "hint: `looseleaf clean --follow`, or `looseleaf flush`, stores them when it answers\n",
             "looseleaf: stored 1 entity, buffered 3\n"});
  check_status(cluster.looseleaf({"get", "--timeout", "2", id_of(2)}), 1, {"no such entity"});
  check_status(cluster.looseleaf({"flush", "--timeout", "2"}), 3,
               {"error: cannot connect to the server\n", "  shard: 1\n",
                "stored 0 buffered writes, left 3; not all buffered writes were seen\n"});
  cluster.sandbox().start_server(1);
  CHECK(contains(cluster.looseleaf({"status"}).out, "6 copies of buffered writes on shards 0, 2: `looseleaf flush` "));
  CHECK(contains(cluster.looseleaf({"status", "--output", "json"}).out, R"("buffered_writes":3,"refused_writes":0)"));
  check_run(cluster.looseleaf({"flush", "--output", "json"}), 0,
            R"({"schema_version":1,"stored":3,"refused":0,"left":0})"
            "\n",
            {R"("what":"stored 3 buffered writes")"});
  check_run(cluster.looseleaf({"get", "-"}, ids), 0, lines);
  check_run(cluster.looseleaf({"query", "by_n", "n=1", "--ids"}), 0, id_of(2) + "\n" + id_of(4) + "\n");
  check_nothing_left(cluster);
  CHECK(!contains(cluster.looseleaf({"status"}).out, "buffered"));
  CHECK(cluster.looseleaf({"put", "--buffer", "--output", "json"}, entity(3)).err.empty());
}

TEST_CASE("two shards of one server do not get both copies, although their sessions differ") {
  const TestCluster cluster({.shards = 4, .servers = 3});  // shards 0 and 3 are on one server
  std::string text = read_text(cluster.file());
  const std::string database = fmt::format(R"("database": "{}")", cluster.database(3));
  text.insert(text.find(database), R"("ssl_mode": "preferred", )");
  cluster.directory().write("looseleaf.json", text);
  check_status(cluster.looseleaf({"init"}), 0, {"created the tables of 4 shards"});
  cluster.sandbox().kill_server(2);
  check_status(cluster.looseleaf({"put", "--buffer"}, entity(2)), 0, {"buffered 1"});
  CHECK(cluster.sql(1, "SELECT COUNT(*) FROM looseleaf_buffer") == "1\n");
}

TEST_CASE("with a second server only one copy is kept, with none the entities fail, and --buffer excludes --merge") {
  const TestCluster two = initialised_alone(2);
  two.sandbox().kill_server(1);
  check_status(two.looseleaf({"put", "--buffer"}, entity(1)), 0,
               {is_down, "  copies: one of each, because no further server answers\n"});
  two.sandbox().start_server(1);
  CHECK(rows_of(two, "looseleaf_buffer") == 1);
  create_index(two, by_n_sharded);
  buffer_while_down(two, 1, entity(0, R"("n":1)") + "\n");  // only its index row is on shard 1
  CHECK(two.sql(0, "SELECT COUNT(*) FROM looseleaf_buffer") == "2\n");
  check_status(two.looseleaf({"flush"}), 0, {"stored 2 buffered writes\n"});
  check_nothing_left(two);
  const TestCluster one = initialised_alone(1);
  one.sandbox().kill_server(0);
  check_run(one.looseleaf({"put", "--buffer", "--timeout", "1"}, entity(1)), 3, "",
            {"error: cannot connect to the server\n", "buffer: the store has one server\n"});
  one.sandbox().start_server(0);
  check_status(one.looseleaf({"freeze", "--reason", "a test"}), 0, {"froze 1 shard"});
  check_run(one.looseleaf({"put", "--buffer"}, entity(1)), 3, "",
            {"error: the store is frozen, and takes no writes\n"});
  check_status(two.looseleaf({"put", "--buffer", "--merge"}), 2, {"error: --merge and --buffer exclude each other\n"});
}

TEST_CASE("a buffered write whose id exists by then with another text is refused, and listed until it is decided") {
  const TestCluster cluster = three_servers();
  const std::string buffered = entity(1, R"("n":1)"), same = entity(4, R"("n":4)"), twice = entity(7, R"("n":8)");
  buffer_while_down(cluster, 1, buffered + "\n" + same + "\n" + entity(7, R"("n":7)") + "\n");
  buffer_while_down(cluster, 1, twice + "\n");
  put_all(cluster, entity(1, R"("n":10)") + "\n" + same + "\n");
  check_status(cluster.looseleaf({"flush"}), 1,
               {"stored 2 buffered writes, refused 2; see `looseleaf refused list`\n"});
  check_run(cluster.looseleaf({"get", id_of(1), id_of(7)}), 0,
            entity(1, R"("n":10)") + "\n" + entity(7, R"("n":7)") + "\n");
  CHECK(contains(cluster.looseleaf({"status"}).out, "2 refused writes on shard 1: see `looseleaf refused list`\n"));
  check_run(cluster.looseleaf({"refused", "list", "--texts"}), 0, buffered + "\n" + twice + "\n");
  check_run(cluster.looseleaf({"refused", "list", "--texts", "--output", "json"}), 2, "",
            {R"("what":"--texts and --output json exclude each other")", R"("hint":"leave one out)"});
  const cli::ProcessResult listed = cluster.looseleaf({"refused", "list"});
  CHECK(holds_in_order(listed.out, {id_of(1) + "  20", "  the entity exists already, with another text\n", id_of(7)}));
  CHECK(contains(cluster.looseleaf({"refused", "list", "--output", "json"}).out,
                 R"("reason":"the entity exists already, with another text","text":"{\"id\":)"));
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 0 buffered writes\n"});

  check_status(cluster.looseleaf({"refused", "retry", id_of(1)}), 1, {"stored 0 buffered writes, refused 1;"});
  REQUIRE(cluster.looseleaf({"delete", id_of(1)}).status == 0);
  check_status(cluster.looseleaf({"refused", "retry", id_of(1)}), 0, {"stored 1 buffered write\n"});
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, buffered + "\n");
  check_status(
      cluster.looseleaf({"refused", "drop", id_of(1)}), 1,
      {"error: no refused write has this id\n", "hint: `looseleaf refused list` shows those that there are\n"});
  check_status(cluster.looseleaf({"refused", "drop"}), 2, {"error: no writes are named\n", "--all"});
  Datastore store = Datastore::open(Cluster::load(cluster.file()));
  CHECK(store.retry_refused({}) + store.drop_refused({}) == 0);  // none, and not all
  check_run(cluster.looseleaf({"refused", "drop", id_of(7), id_of(8)}), 1, "",
            {"warning: no refused write has this id\n", "  id: " + id_of(8) + "\n", "dropped 1 refused write\n"});
  check_run(cluster.looseleaf({"refused", "list"}), 0, "", {"no write is refused\n"});
  check_run(cluster.looseleaf({"get", id_of(7)}), 0, entity(7, R"("n":7)") + "\n");
  check_nothing_left(cluster);
}

// Buffers three writes: one can be stored, one is refused, and of one the text is stored already. `first` is the number
// of the first entity, which is on shard 1. A flush dies there, and what it has stored is deleted: it must not come
// back. Returns whether that holds.
bool takes_effect_once(const TestCluster& cluster, std::uint64_t first, const std::string& place) {
  buffer_while_down(cluster, 1, entity(first, R"("n":1)") + "\n" + entity(first + 3) + "\n" + entity(first + 6) + "\n");
  put_all(cluster, entity(first + 3, R"("n":4)") + "\n" + entity(first + 6) + "\n");
  cluster.die_at(place, {"flush"});
  const bool was_stored = cluster.looseleaf({"delete", id_of(first)}).status == 0;
  const cli::ProcessResult again = cluster.looseleaf({"flush"});
  INFO(again.err);
  CHECK((again.status == 0 || again.status == 1));
  CHECK(cluster.looseleaf({"refused", "list", "--texts"}).out == entity(first + 3) + "\n");
  REQUIRE(cluster.looseleaf({"refused", "drop", "--all"}).status == 0);
  return was_stored == (cluster.looseleaf({"get", id_of(first)}).status == 1);
}

TEST_CASE("whatever step a flush dies at, each write takes effect once, but not if receipts are left out" *
          needs_failpoints) {
  const TestCluster cluster = three_servers();
  std::uint64_t next = 1;
  for (const char* const place :
       {"put.check_receipt:before@1", "put.write_receipt:before@1", "put.write_receipt:after@1", "put.commit:before@1",
        "put.commit:after@1", "flush.refuse:before@1", "flush.refuse:after@1", "flush.delete_copies:before@0",
        "flush.delete_copies:after@0", "flush.delete_copies:after@2", "flush.settle:before@1",
        "flush.settle:after@1"}) {
    INFO(place);
    CHECK(takes_effect_once(cluster, next, place));
    next += 9;
  }
  CHECK(!takes_effect_once(cluster, next, "put.write_receipt=skip,put.commit:after@1"));
  check_nothing_left(cluster);
}

// A server that forgets a receipt, or that a copy is deleted, would lose the write or store it again.
TEST_CASE("what a flush finds done it makes durable before it goes on" * needs_failpoints) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"put.commit:after@1", {"durable.commit:after@1\n", "flush.delete_copies:before@"}},
      {"flush.delete_copies:after@0",
       {"flush.delete_copies:before@0\n", "durable.commit:after@0\n", "flush.settle:before@1\n"}}};
  for (const auto& [place, expected] : cases) {
    CAPTURE(place);
    const TestCluster cluster = three_servers();
    buffer_while_down(cluster, 1, entity(1, R"("n":1)") + "\n");
    cluster.die_at(place, {"flush"});
    const auto [result, steps] = run_traced(cluster, {"flush"});
    CHECK(result.status == 0);
    CAPTURE(steps);
    CHECK(holds_in_order(steps, expected));
  }
}

TEST_CASE("refused texts that were put are settled by a retry, and what was refused meanwhile is not lost") {
  const TestCluster cluster = three_servers();
  const std::string first = entity(1, R"("n":1)") + "\n", second = entity(1, R"("n":2)") + "\n";
  buffer_while_down(cluster, 1, first);
  put_all(cluster, entity(1, R"("n":10)"));
  check_status(cluster.looseleaf({"flush"}), 1, {"refused 1"});
  const std::string texts = cluster.looseleaf({"refused", "list", "--texts"}).out;
  CHECK(texts == first);
  buffer_while_down(cluster, 1, second);
  check_status(cluster.looseleaf({"flush"}), 1, {"refused 1"});
  put_all(cluster, texts);
  check_status(cluster.looseleaf({"refused", "retry", "--all"}), 1, {"stored 1 buffered write, refused 1;"});
  check_run(cluster.looseleaf({"refused", "list", "--texts"}), 0, second);
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, first);
}

// The first flush has read the copies and sleeps while a second one stores them and deletes copies and receipts. Then
// the entity is deleted. Returns whether the first flush brings it back.
bool comes_back(const TestCluster& cluster, std::uint64_t number, const std::string& left_out) {
  buffer_while_down(cluster, 1, entity(number, R"("n":1)") + "\n");
  cli::Process first = cluster.stop_at(left_out + "put.fence:before@1", {"flush"});
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 1 buffered write\n"});
  REQUIRE(cluster.looseleaf({"delete", id_of(number)}).status == 0);
  CHECK(resume(first).status == 0);
  return cluster.looseleaf({"get", id_of(number)}).status == 0;
}

TEST_CASE("a flush that was asleep while another one completed changes nothing, because the copies are gone" *
          needs_failpoints) {
  const TestCluster cluster = three_servers();
  CHECK(!comes_back(cluster, 1, ""));
  CHECK(comes_back(cluster, 4, "put.check_copy=skip,"));

  buffer_while_down(cluster, 1, entity(7, R"("n":1)") + "\n");
  put_all(cluster, entity(7));
  cli::Process first = cluster.stop_at("flush.refuse:before@1", {"flush"});
  REQUIRE(cluster.looseleaf({"delete", id_of(7)}).status == 0);
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 1 buffered write\n"});
  put_all(cluster, entity(7));
  check_status(resume(first), 0, {"stored 0 buffered writes\n"});
  check_run(cluster.looseleaf({"refused", "list"}), 0, "", {"no write is refused\n"});
  check_nothing_left(cluster);
}

TEST_CASE("a server that has copies may die before the flush, and come back long after it") {
  const TestCluster cluster = three_servers();
  buffer_while_down(cluster, 1, entity(1, R"("n":1)") + "\n");
  cluster.sandbox().kill_server(0);
  check_status(cluster.looseleaf({"flush", "--timeout", "2"}), 3,
               {"  shard: 0\n", "stored 1 buffered write; not all buffered writes were seen\n"});
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, entity(1, R"("n":1)") + "\n");
  CHECK(cluster.sql(1, "SELECT COUNT(*) FROM looseleaf_receipt") == "1\n");
  check_status(cluster.looseleaf({"delete", "--timeout", "2", id_of(1)}), 0);
  cluster.sandbox().start_server(0);
  CHECK(cluster.sql(0, "SELECT COUNT(*) FROM looseleaf_buffer") == "1\n");
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 0 buffered writes\n"});
  check_status(cluster.looseleaf({"get", id_of(1)}), 1, {"no such entity"});
  check_nothing_left(cluster);
}

TEST_CASE(
    "a put that dies before, between or after its commits has buffered the entity or not, and flush copes with each" *
    needs_failpoints) {
  const TestCluster cluster = initialised_alone(3);
  std::uint64_t number = 1;
  for (const char* const place : {"buffer.copy:after@0", "buffer.commit:before@2", "buffer.commit:after@2",
                                  "buffer.commit:before@0", "buffer.commit:after@0"}) {
    INFO(place);
    cluster.sandbox().kill_server(1);
    cluster.die_at(place, {"put", "--buffer"}, entity(number));
    cluster.sandbox().start_server(1);
    const bool buffered = std::string(place) != "buffer.copy:after@0" && std::string(place) != "buffer.commit:before@2";
    check_status(cluster.looseleaf({"flush"}), 0, {buffered ? "stored 1 buffered" : "stored 0 buffered"});
    CHECK((cluster.looseleaf({"get", id_of(number)}).status == 0) == buffered);
    number += 3;
  }
  check_nothing_left(cluster);
}

TEST_CASE("a flush waits for a copy that is not committed yet, so a put that was asleep brings nothing back" *
          needs_failpoints) {
  const TestCluster cluster = initialised_alone(3);
  cluster.sandbox().kill_server(1);
  cli::Process put = cluster.stop_at("buffer.commit:before@0", {"put", "--buffer"}, entity(1));
  cluster.sandbox().start_server(1);
  cli::Process flush = cluster.start({"flush"});
  wait_until("it is stored", [&] { return cluster.looseleaf({"get", id_of(1)}).status == 0; });
  REQUIRE(cluster.looseleaf({"delete", id_of(1)}).status == 0);
  CHECK(cluster.sql(1, "SELECT COUNT(*) FROM looseleaf_receipt") == "1\n");
  check_run(resume(put), 0, id_of(1) + "\n", {"buffered 1\n"});
  check_status(flush.wait(), 0, {"stored 1 buffered write\n"});
  check_status(cluster.looseleaf({"get", id_of(1)}), 1, {"no such entity"});
  check_nothing_left(cluster);
}

TEST_CASE("entities of 16 MiB that hardly compress are buffered and flushed as others are, and a flush can be stopped" *
          needs_failpoints) {
  const TestCluster cluster = initialised_alone(3);
  const std::string lines = entity(1, R"("noise":")" + noise(8'000'000) + "\"") + "\n" + entity(4) + "\n" +
                            entity(7, R"("noise":")" + noise(16'500'000) + "\"") + "\n";
  buffer_while_down(cluster, 1, lines);
  cli::Process stopped = cluster.stop_at("put.commit:before", {"flush", "--output", "json"});
  stopped.signal(SIGINT);
  const cli::ProcessResult first = resume(stopped);
  CHECK(first.status == 130);
  CHECK(contains(first.out, R"("stored":1,"refused":0,"left":null)"));
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 2 buffered writes\n"});
  check_run(cluster.looseleaf({"get", id_of(1), id_of(4), id_of(7)}), 0, lines);
  check_nothing_left(cluster);
}

TEST_CASE("an entity that a server does not take any more is left, and delays no other") {
  const TestCluster cluster = initialised_alone(3);
  const std::string large = entity(1, R"("noise":")" + noise(4'000'000) + "\"") + "\n";
  buffer_while_down(cluster, 1, large + entity(4) + "\n");
  cluster.server_sql(1, "SET GLOBAL max_allowed_packet = 1048576");
  check_status(cluster.looseleaf({"flush"}), 3,
               {"error: a buffered entity exceeds the server's max_allowed_packet\n", "  id: " + id_of(1) + "\n",
                "hint: raise max_allowed_packet on every server", "stored 1 buffered write, left 1\n"});
  check_run(cluster.looseleaf({"get", id_of(4)}), 0, entity(4) + "\n");
  CHECK(rows_of(cluster, "looseleaf_buffer") == 2);  // those of the large one
  CHECK(rows_of(cluster, "looseleaf_receipt") == 0);
  cluster.server_sql(1, "SET GLOBAL max_allowed_packet = 67108864");
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 1 buffered write\n"});
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, large);
  check_nothing_left(cluster);
}

TEST_CASE("if a server dies while copies are committed, a warning says that there may be one of each" *
          needs_failpoints) {
  const TestCluster cluster = initialised_alone(3);
  cluster.sandbox().kill_server(1);
  cli::Process put = cluster.stop_at("buffer.commit:before@0", {"put", "--buffer"}, entity(1));
  cluster.sandbox().kill_server(0);
  check_run(resume(put), 0, id_of(1) + "\n",
            {is_down, "  copies: at least one of each, because a server did not answer its COMMIT\n"});
  cluster.sandbox().start_server(0);
  cluster.sandbox().start_server(1);
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 1 buffered write\n"});
  check_nothing_left(cluster);
}

TEST_CASE("a flush puts writes with very many index rows into several transactions" * needs_failpoints) {
  const TestCluster cluster = initialised_alone(3);
  create_index(cluster, R"({"table":"by_m","properties":[{"name":"m","type":"int","each":true}]})");
  std::string lines;
  for (const std::uint64_t number : {1U, 4U, 7U}) {
    std::string numbers = "0";
    for (int i = 1; i < 4000; ++i) {
      numbers += fmt::format(",{}", i);
    }
    lines += entity(number, R"("m":[)" + numbers + "]") + "\n";
  }
  buffer_while_down(cluster, 1, lines);
  cluster.die_at("put.commit:after@1", {"flush"}, "");
  CHECK(cluster.sql(1, "SELECT COUNT(*) FROM entities") == "2\n");
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 1 buffered write\n"});
  check_nothing_left(cluster);
}

TEST_CASE("a flush writes nothing for a write whose last copy is on a server that is still down") {
  const TestCluster cluster = initialised_alone(3);
  cluster.sandbox().kill_server(1);
  REQUIRE(cluster.looseleaf({"put", "--buffer"}, entity(1)).status == 0);
  cluster.sandbox().start_server(1);
  cluster.sandbox().kill_server(2);
  check_status(cluster.looseleaf({"flush", "--timeout", "2"}), 3, {"stored 1 buffered write; not all"});
  const auto deletes = [&] { return cluster.server_sql(0, "SHOW GLOBAL STATUS LIKE 'Com_delete'"); };
  const std::string before = deletes();
  check_status(cluster.looseleaf({"flush", "--timeout", "1"}), 3, {"stored 0 buffered writes; not all"});
  CHECK(deletes() == before);
  cluster.sandbox().start_server(2);
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 0 buffered writes\n"});
  check_nothing_left(cluster);
}

TEST_CASE("writes whose commit is in doubt are not buffered, and each is named" * needs_failpoints) {
  const TestCluster cluster = initialised_alone(3);
  std::vector<std::string> args = {"put", "--buffer", "--timeout", "6"};
  SUBCASE("without a rejects file") {}
  SUBCASE("also if the rejects file cannot be written") {
    args.insert(args.end(), {"--rejects", "/dev/full"});
  }
  const std::string in_flight =
      "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SELECT COUNT(*) FROM entities";
  std::optional<cli::Process> put;
  int tries = 0;
  do {  // a busy machine may put the first of them into a batch of its own
    REQUIRE(++tries <= 10);
    put.reset();
    put.emplace(cluster.stop_at("put.commit:before@1", args, entity(1) + entity(4) + entity(7)));
  } while (cluster.sql(1, in_flight) != "3\n");
  cluster.sandbox().kill_server(1);
  check_run(resume(*put), 3, "",
            {"error: outcome of the commit is unknown\n", "  id: " + id_of(1) + "\n", "  id: " + id_of(4) + "\n",
             "  id: " + id_of(7) + "\n", "stored 0 entities, unknown 3\n"});
  cluster.sandbox().start_server(1);
  CHECK(rows_of(cluster, "looseleaf_buffer") == 0);
}

TEST_CASE("a server that answers but does not take a copy is not asked again while another may take it") {
  const TestCluster cluster = three_servers();
  cluster.sql(2, "RENAME TABLE looseleaf_buffer TO gone");
  cluster.sandbox().kill_server(1);
  check_run(cluster.looseleaf({"put", "--buffer"}, entity(1)), 0, id_of(1) + "\n",
            {is_down, "  copies: one of each, because no further server takes them\n", "buffered 1\n"});
}

TEST_CASE("a write whose unique value an entity on a server that is down has is buffered") {
  const TestCluster cluster = initialised_alone(3);
  create_index(cluster,
               R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}], "shard_on": "n", "unique": true})");
  // The row of entity 1 is on a server that is up.
  std::uint64_t n = 0;
  for (; cluster.sql(0, "SELECT n FROM by_n").empty(); ++n) {
    put_all(cluster, entity(1, fmt::format(R"("n":{})", n)));
  }
  const std::string taking = entity(3, fmt::format(R"("n":{})", n - 1));
  cluster.sandbox().kill_server(1);
  check_status(cluster.looseleaf({"put", "--buffer"}, taking), 0, {is_down, "buffered 1\n"});
  cluster.sandbox().start_server(1);
  check_status(cluster.looseleaf({"flush"}), 1, {"refused 1"});
}

TEST_CASE("a cleaner that cannot flush for good says so once, and does not say that it works again") {
  const TestCluster cluster = initialised_alone(3);
  create_index(cluster, by_n);
  buffer_while_down(cluster, 1, entity(1, R"("n":1)") + "\n");
  cluster.sql(1, "RENAME TABLE by_n TO gone");
  const std::string metrics = cluster.directory().path() + "/metrics";
  cli::Process clean = cluster.start({"clean", "--follow", "--metrics-file", metrics});
  const std::string failed = "looseleaf_clean_passes_total{result=\"failure\"} ";
  wait_until(
      "three passes have failed",
      [&] {
        const std::string text = std::filesystem::exists(metrics) ? read_text(metrics) : "";
        const std::size_t at = text.find(failed);
        return at != std::string::npos && std::stoi(text.substr(at + failed.size())) >= 3;
      },
      std::chrono::seconds(30));
  const cli::ProcessResult result = end_by(SIGTERM, clean);
  CHECK(times("error: a table does not exist\n", result.err) == 1);
  CHECK(times("works again", result.err) == 0);
}

TEST_CASE("a server whose fence is held for a moment gets its copy") {
  const TestCluster cluster = three_servers();
  cluster.sandbox().kill_server(1);
  cli::Process holder =
      start({cluster.client(), "--defaults-file=" + cluster.defaults_file(), "-S", cluster.socket(2),
             cluster.database(2), "-e", "BEGIN; SELECT * FROM looseleaf_shard FOR UPDATE; SELECT SLEEP(5)"});
  wait_until("it is held", [&] {
    return contains(cluster.sql(2, "SELECT info FROM information_schema.processlist"), "SELECT SLEEP(5)\n");
  });
  check_status(cluster.looseleaf({"put", "--buffer", "--quiet"}, entity(1)), 0, {is_down});
  static_cast<void>(holder.wait());
  cluster.sandbox().start_server(1);
  CHECK(rows_of(cluster, "looseleaf_buffer") == 2);
}

TEST_CASE("a frozen store buffers nothing, and what was buffered before waits") {
  const TestCluster cluster = initialised_alone(3);
  buffer_while_down(cluster, 1, entity(1) + "\n");
  check_status(cluster.looseleaf({"freeze", "--reason", "a test"}), 0,
               {"warning: writes that were buffered are not stored while the store is frozen\n",
                "copies of such writes: 2\n", "froze 3 shards"});
  check_status(cluster.looseleaf({"flush"}), 3,
               {"error: the store is frozen, and takes no writes\n", "stored 0 buffered writes, left 1"});
  cluster.sandbox().kill_server(1);
  check_status(cluster.looseleaf({"put", "--buffer"}, entity(4)), 3,
               {"error: the store is frozen, and takes no writes\n", "failed 1\n"});
  cluster.sandbox().start_server(1);
  REQUIRE(cluster.looseleaf({"thaw"}).status == 0);
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 1 buffered write\n"});
  check_nothing_left(cluster);
}

TEST_CASE("two processes that flush at once store each write once") {
  const TestCluster cluster = three_servers();
  std::string lines;
  for (std::uint64_t number = 1; number < 1500; number += 3) {
    lines += entity(number, fmt::format(R"("n":{})", number)) + "\n";
  }
  buffer_while_down(cluster, 1, lines);
  cli::Process one = cluster.start({"flush", "--output", "json"}), other = cluster.start({"flush", "--output", "json"});
  std::uint64_t stored = 0;
  for (cli::Process* const process : {&one, &other}) {
    const cli::ProcessResult result = process->wait();
    INFO(result.err);
    CHECK(result.status == 0);
    stored += std::stoull(result.out.substr(result.out.find("\"stored\":") + 9));
  }
  CHECK(stored == 500);
  CHECK(rows_of(cluster, "entities") == 500);
  check_nothing_left(cluster);
}

TEST_CASE("a put that can neither be stored nor buffered waits for the servers as others do") {
  const TestCluster cluster = initialised_alone(2);
  cluster.sandbox().kill_server(0);
  cluster.sandbox().kill_server(1);
  cli::Process put = cluster.start({"put", "--buffer"}, entity(1));
  wait_until("it says that it waits", [&] { return contains(put.err(), "waiting for a shard"); });
  cluster.sandbox().start_server(0);
  cluster.sandbox().start_server(1);
  const cli::ProcessResult result = put.wait();
  INFO(result.err);
  CHECK(result.status == 0);
  CHECK(result.out == id_of(1) + "\n");
  check_status(cluster.looseleaf({"flush"}), 0, {"stored "});
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, entity(1) + "\n");
}

TEST_CASE("a row that another session has locked is waited for, not buffered") {
  const TestCluster cluster = initialised_alone(2);
  put_all(cluster, entity(1));
  cli::Process locker =
      start({cluster.client(), "--defaults-file=" + cluster.defaults_file(), "-S", cluster.socket(1),
             cluster.database(1), "-e", "BEGIN; SELECT id FROM entities FOR UPDATE; SELECT SLEEP(5)"});
  wait_until("it is locked", [&] {
    return cluster.server_sql(
               1, "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'SELECT SLEEP(5)'") == "1\n";
  });
  check_run(cluster.looseleaf({"put", "--buffer"}, entity(1, R"("n":1)")), 1, "", {"the entity exists already\n"});
  CHECK(rows_of(cluster, "looseleaf_buffer") == 0);
  static_cast<void>(locker.wait());
}

TEST_CASE("an index shard that takes no rows delays a flush once, and not with every batch") {
  const TestCluster cluster = three_servers();
  std::string lines;  // all rows are on shard 1, and no entity
  for (std::uint64_t number = 0; number < 9000; ++number) {
    lines += number % 3 == 1 ? "" : entity(number, R"("n":1)") + "\n";
  }
  buffer_while_down(cluster, 1, lines);
  cli::Process locker = start({cluster.client(), "--defaults-file=" + cluster.defaults_file(), "-S", cluster.socket(1),
                               cluster.database(1), "-e", "LOCK TABLES by_n WRITE; SELECT SLEEP(60)"});
  wait_until("it is locked", [&] {
    return cluster.server_sql(
               1, "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'SELECT SLEEP(60)'") == "1\n";
  });
  const auto begin = std::chrono::steady_clock::now();
  check_status(cluster.looseleaf({"flush", "--timeout", "2"}), 3,
               {"shard: 1\n", "stored 0 buffered writes, left 6,000\n"});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));  // twice for each server of entities
  end_by(SIGKILL, locker);
  cluster.kill_sessions(1);
  check_status(cluster.looseleaf({"flush"}), 0, {"stored 6,000 buffered writes\n"});
}

TEST_CASE("with a server down, refused writes of the others are listed and dropped, and the rest is named") {
  const TestCluster cluster = three_servers();
  std::string with_n, without_n;
  for (const std::uint64_t number : {1, 3, 9, 12}) {
    with_n += entity(number, R"("n":1)") + "\n";
    without_n += entity(number) + "\n";
  }
  buffer_while_down(cluster, 1, with_n);
  put_all(cluster, without_n);
  check_status(cluster.looseleaf({"flush"}), 1, {"refused 4"});
  cluster.sandbox().kill_server(1);
  check_run(cluster.looseleaf({"refused", "drop", id_of(6), id_of(9), "--timeout", "1"}), 1, "",
            {"warning: no refused write has this id\n", "  id: " + id_of(6) + "\n", "dropped 1 refused write\n"});
  const cli::ProcessResult retried = cluster.looseleaf({"refused", "retry", id_of(1), id_of(12), "--timeout", "1"});
  check_status(retried, 3, {"error: cannot connect to the server\n", "stored 0 buffered writes, left 1"});
  CHECK(times("error: ", retried.err) == 1);
  check_run(cluster.looseleaf({"refused", "list", "--texts", "--timeout", "1"}), 3, entity(3, R"("n":1)") + "\n",
            {"error: cannot connect to the server\n", "  shard: 1\n"});
  check_status(
      cluster.looseleaf({"refused", "drop", "--all", "--timeout", "1"}), 3,
      {"error: cannot connect to the server\n", "  shard: 1\n", "  writes of other shards that were changed: 1\n"});
  cluster.sandbox().start_server(1);
  check_run(cluster.looseleaf({"refused", "list", "--texts"}), 0, entity(1, R"("n":1)") + "\n");
}

TEST_CASE("a buffered write that cannot be stored keeps clean neither from purging nor from its sweep") {
  const TestCluster cluster = three_servers();
  create_index(cluster,
               R"({"table": "by_u", "properties": [{"name": "u", "type": "int"}], "shard_on": "u", "unique": true})");
  put_all(cluster, entity(0, R"("u":5)") + "\n" + entity(3) + "\n");
  buffer_while_down(cluster, 1, entity(1, R"("u":5)") + "\n");
  check_status(cluster.looseleaf({"delete", id_of(3)}), 0);
  cluster.sql(0,
              "UPDATE entities SET body = x'00' WHERE body IS NOT NULL;"
              "UPDATE entities SET updated = updated - INTERVAL 3 DAY WHERE body IS NULL");
  cluster.sql(2, fmt::format("INSERT INTO by_n (n, entity_id) VALUES (2, x'{}')", id_of(4)));
  check_status(cluster.looseleaf({"clean", "--full"}), 3, {"error: "});
  CHECK(rows_of(cluster, "entities WHERE body IS NULL") == 0);
  CHECK(rows_of(cluster, "by_n") == 0);
}

TEST_CASE("clean says which shard keeps it from storing buffered writes, and why") {
  const TestCluster cluster = initialised();
  cluster.sql(0, fmt::format("INSERT INTO looseleaf_buffer VALUES (1, NOW(6), x'{}', 0, NULL, COMPRESS('{}'))",
                             id_of(1), entity(1)));
  check_status(cluster.looseleaf({"freeze", "--reason", "a new server"}), 0, {""});
  check_status(
      cluster.looseleaf({"clean"}), 0,
      {"warning: buffered writes are left\n", "writes: 1\n", "cause: the store is frozen, and takes no writes\n",
       "shard: 1\n", "server: ", "hint: run `looseleaf flush` once the cause is removed; it names all causes\n"});
}

TEST_CASE("clean --follow stores what was buffered, and counts it in its metrics") {
  const TestCluster cluster = three_servers();
  const std::string metrics = cluster.directory().path() + "/metrics";
  cluster.sandbox().kill_server(1);
  REQUIRE(cluster.looseleaf({"put", "--buffer"}, entity(1, R"("n":1)")).status == 0);
  cli::Process cleaner = cluster.start({"clean", "--follow", "--timeout", "1", "--metrics-file", metrics});
  wait_until("the metrics show the copies",
             [&] { return contains(read_text(metrics), "looseleaf_clean_buffered_writes{shard=\"0\"} 1\n"); });
  cluster.sandbox().start_server(1);
  wait_until("it is stored",
             [&] { return contains(read_text(metrics), "looseleaf_clean_buffered_writes_flushed_total 1\n"); });
  wait_until("it says so", [&] { return contains(cleaner.err(), "clean works again\n"); });
  check_status(end_by(SIGTERM, cleaner), 128 + SIGTERM, {"clean works again\n", "stored 1 buffered write"});
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, entity(1, R"("n":1)") + "\n");
  check_nothing_left(cluster);
}

}  // namespace
}  // namespace looseleaf::test

// looseleaf put: the forms of input, what is printed, and that the servers hold the text as it was given.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <looseleaf/uuid.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

std::string hex_of(std::string_view text) {
  std::string hex;
  for (const char c : text) {
    hex += fmt::format("{:02X}", static_cast<unsigned char>(c));
  }
  return hex;
}

// Bytes in hexadecimal, since the servers' clients escape some characters on their way out.
std::string stored_hex(const TestCluster& cluster, const std::string& id) {
  return cluster.everywhere(fmt::format("SELECT HEX(UNCOMPRESS(body)) FROM entities WHERE id = UNHEX('{}')", id));
}

TEST_CASE("a rejects file that is also the input is refused before it is emptied") {
  const TestCluster cluster = initialised();
  const std::string text = entity(7, R"("a":1)") + "\n";
  const std::string path = cluster.directory().write("entities.json", text);
  const auto result = cluster.looseleaf({"put", path, "--rejects", path});
  CHECK(result.status == 2);
  CHECK(result.err.find("error: the rejects file is also an input") != std::string::npos);
  CHECK(cluster.looseleaf({"put", path}).out == id_of(7) + "\n");
}

TEST_CASE("a rejects file that is also the output is refused, because ids and rejects would overwrite each other") {
  const TestCluster cluster = initialised();
  const std::string path = cluster.directory().write("entities.json", entity(7) + "\nx\n");
  const std::string command = R"("$0" --cluster "$1" put --rejects "$2.out" "$2" > "$2.out")";
  check_status(run({"sh", "-c", command, looseleaf_program(), cluster.file(), path}), 2,
               {"error: the rejects file is also the output\n", "hint: give another name"});
  CHECK(rows_of(cluster, "entities") == 0);
}

TEST_CASE("every form of input is read, and ids are printed in input order") {
  const std::string a = entity(7, R"("a":1)"), b = entity(2, R"("a":2)"), c = entity(5, R"("a":3)");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"one a line", a + "\n" + b + "\n" + c + "\n"},
      {"no line end at the end", a + "\n" + b + "\n" + c},
      {"empty lines and carriage returns", "\n" + a + "\r\n\r\n" + b + "\n \n" + c + "\r\n"},
      {"several on one line", a + b + " " + c},
      {"an array", "[" + a + ",\n" + b + "," + c + "]"},
      {"a pretty-printed array", "[\n  " + a + ",\n  " + b + ",\n  " + c + "\n]\n"},
      {"pretty-printed",
       fmt::format("{{\n  \"id\": \"{}\",\n  \"a\": 1\n}}\n{{\n  \"id\": \"{}\"\n}}\n{}\n", id_of(7), id_of(2), c)},
  };
  for (const auto& [name, input] : cases) {
    CAPTURE(name);
    const TestCluster cluster = initialised();
    check_run(cluster.looseleaf({"put"}, input), 0, lines_of_ids({7, 2, 5}));
    CHECK(rows_of(cluster, "entities") == 3);
    check_run(cluster.looseleaf({"get", id_of(5)}), 0, c + "\n");
  }
}

TEST_CASE("files are read in the order given, standard input among them") {
  const TestCluster cluster = initialised();
  const std::string first = cluster.directory().write("first.jsonl", entity(3) + "\n");
  const std::string second = cluster.directory().write("second.jsonl", "[" + entity(1) + "]");
  check_run(cluster.looseleaf({"put", first, "-", second}, entity(2)), 0,
            id_of(3) + "\n" + id_of(2) + "\n" + id_of(1) + "\n");
}

TEST_CASE("a file that is not there, or cannot be read, is refused before anything is stored") {
  const TestCluster cluster = initialised();
  const std::string good = cluster.directory().write("good.jsonl", entity(1));
  const std::string rejects = cluster.directory().write("rejects", "kept");
  for (const auto& [bad, reason] : {std::pair<std::string, std::string>{"/nonexistent.jsonl", "No such file"},
                                    {cluster.directory().path(), "Is a directory"}}) {
    CAPTURE(bad);
    check_run(cluster.looseleaf({"put", good, bad, "--rejects", rejects}), 3, "",
              {"looseleaf: error: the file cannot be read\n", "file: " + bad + "\n", "reason: " + reason,
               "hint: nothing was stored; "});
    CHECK(rows_of(cluster, "entities") == 0);
    CHECK(read_text(rejects) == "kept");
  }
}

TEST_CASE("a program that mends the rejects file and pipes it into put can read it to its end") {
  const TestCluster cluster = initialised();
  const std::string rejects = cluster.directory().write("rejects", entity_lines(5000, R"("n":{})"));
  const std::string link = rejects + ".link";
  std::filesystem::create_symlink("rejects", link);
  std::filesystem::permissions(rejects, std::filesystem::perms{0666});
  // It reads the rest after put has emptied the file for its own rejects.
  const std::string command =
      R"({ head -n 1; while [ -s "$2" ]; do sleep 0.01; done; cat; echo '{'; } < "$2" | "$0" --cluster "$1" put --quiet --rejects "$2")";
  check_status(run({"sh", "-c", command, looseleaf_program(), cluster.file(), link}), 1,
               {"error: object is not closed\n", "  line: 5002\n"});
  CHECK(rows_of(cluster, "entities") == 5000);
  CHECK(read_text(rejects) == "{\n");
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::status(rejects).permissions() == std::filesystem::perms{0666});
}

TEST_CASE("a rejects file that another program has locked is not waited for, and its contents are replaced") {
  const TestCluster cluster = initialised();
  const std::string rejects = cluster.directory().write("rejects", "old");
  const std::string command = R"(flock "$2" "$0" --cluster "$1" put --quiet --rejects "$2")";
  check_status(
      run({"timeout", "20", "sh", "-c", command, looseleaf_program(), cluster.file(), rejects}, entity(1) + "\n}"), 1,
      {"error: "});
  CHECK(read_text(rejects) == "}\n");
}

TEST_CASE("the rejects file of an earlier run is emptied once the store is there, not before") {
  const TestCluster cluster = TestCluster::shared();
  const std::string rejects = cluster.directory().write("rejects", "kept");
  const std::vector<std::string> put = {"put", "--rejects", rejects};
  CHECK(cluster.looseleaf(put, entity(1)).status == 2);
  CHECK(read_text(rejects) == "kept");
  CHECK(cluster.looseleaf({"init"}).status == 0);
  CHECK(cluster.looseleaf(put, entity(1)).status == 0);
  CHECK(read_text(rejects).empty());
}

TEST_CASE("a file that turns out to be unreadable does not keep the others from being stored") {
  const TestCluster cluster = initialised();
  const std::string good = cluster.directory().write("good.jsonl", entity(1));
  const std::string socket = cluster.socket(0);
  check_run(cluster.looseleaf({"put", socket, good}), 3, id_of(1) + "\n",
            {"looseleaf: error: the file cannot be read\n", "file: " + socket + "\n"});
}

// The data in one gzip member.
std::string gzipped(const std::string& data) {
  const cli::ProcessResult result = run({"gzip", "-c"}, data);
  REQUIRE(result.status == 0);
  return result.out;
}

TEST_CASE("gzip data is decompressed, in files and on standard input, however many members it has") {
  const TestCluster cluster = initialised();
  const std::string lines = entity_lines(3'000);
  const std::string packed = cluster.directory().write("packed", gzipped(lines) + gzipped("") + gzipped(entity(9'001)));
  check_status(cluster.looseleaf({"put", packed}), 0);
  CHECK(rows_of(cluster, "entities") == 3'001);
  check_run(cluster.looseleaf({"put"}, gzipped(entity(9'002))), 0, id_of(9'002) + "\n");
  check_run(cluster.looseleaf({"get", "-"}, gzipped(id_of(9'002) + "\n")), 0, entity(9'002) + "\n");
  check_run(cluster.looseleaf({"explain", "-"}, gzipped(entity(1))), 0, "line 1\n");
  check_run(cluster.looseleaf({"delete", "-"}, gzipped(id_of(9'002) + "\n")), 0, id_of(9'002) + "\n");
  check_run(cluster.looseleaf({"put"}, gzipped("")), 0, "", {"stored 0 entities: the input has none\n"});
  // The first byte alone tells nothing yet, and a part of a header is no header.
  const std::string named = cluster.directory().write("named", entity(9'003));
  check_run(run({"sh", "-c",
                 R"(gzip "$1"; { for part in 1 2 3 12; do head -c $part; sleep 0.1; done; cat; } < "$1.gz" |
                    "$LOOSELEAF_BIN" --cluster "$0" put)",
                 cluster.file(), named}),
            0, id_of(9'003) + "\n");
}

TEST_CASE("a tar archive is refused as a whole, compressed or not, and in a pipe") {
  const TestCluster cluster = initialised();
  const std::string& folder = cluster.directory().path();
  cluster.directory().write("e.jsonl", entity_lines(20));
  REQUIRE(run({"sh", "-c", R"(cd "$0" && tar -cf e.tar e.jsonl && gzip -k e.tar)", folder}).status == 0);
  const std::vector<std::string> complaint = {"error: the input is not UTF-8 text\n", "  format: tar\n",
                                              "hint: ", "convert it first: `tar -xOf FILE | looseleaf ...`\n"};
  for (const std::string name : {"/e.tar", "/e.tar.gz"}) {
    CAPTURE(name);
    check_run(cluster.looseleaf({"put", folder + name}), 3, "", complaint);
    check_run(cluster.looseleaf({"put"}, read_text(folder + name)), 3, "", complaint);
  }
  CHECK(rows_of(cluster, "entities") == 0);
}

TEST_CASE("put warns if an entity is in a member, as `changes` prints it") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(1));
  for (const std::vector<std::string>& command : {std::vector<std::string>{"changes"}, {"get", "--stamps", id_of(1)}}) {
    const std::string printed = lines_of(cluster.looseleaf(command).out).front();
    check_status(cluster.looseleaf({"put"}, printed), 0,
                 {"warning: entities look like lines of `changes` or of `get --stamps`", "hint: they are stored as"});
    put_all(cluster, entity(1));
  }
  put_all(cluster, entity(1, R"("stamp":"x","entity":7)"));
}

TEST_CASE("put warns once if an id is under another spelling of its name, and only then") {
  const TestCluster cluster = initialised();
  const std::string other = fmt::format(R"({{"ID":"{}"}})", id_of(1));
  const cli::ProcessResult warned = cluster.looseleaf({"put"}, other + "\n" + other);
  check_status(
      warned, 0,
      {"warning: entities have a member \"ID\", but no \"id\"; they got new ids\n", "hint: rename the member"});
  CHECK(times("warning", warned.err) == 1);
  check_status(cluster.looseleaf({"put"}, R"({"_id":{"$oid":"507f1f77bcf86cd799439011"}})"), 0,
               {"warning: entities have a member \"_id\", but no \"id\"; they got new ids\n",
                "hint: put them with --key '_id.$oid': ids are then made of its values"});
  check_status(cluster.looseleaf({"put"}, R"({"ID":7})" + entity(2, fmt::format(R"("ID":"{}")", id_of(1)))), 0);
}

TEST_CASE("gzip data that is cut off or damaged is an error, and what came before it is stored") {
  const TestCluster cluster = initialised();
  const std::string whole = gzipped(entity(1) + "\n");
  std::string wrong_checksum = gzipped(entity(2));
  wrong_checksum[wrong_checksum.size() - 8] ^= 1;
  for (const auto& [data, reason] :
       {std::pair<std::string, std::string>{whole + gzipped(entity(2)).substr(0, 30), "it ends too early"},
        {whole + wrong_checksum, "incorrect data check"},
        {whole + "what is no gzip data", "incorrect header check"}}) {
    CAPTURE(reason);
    const std::string file = cluster.directory().write("damaged.gz", data);
    check_run(cluster.looseleaf({"put", file}), 3, id_of(1) + "\n",
              {"looseleaf: error: the gzip data cannot be read to its end\n", "  file: " + file + "\n",
               "  reason: " + reason + "\n", "hint: test the file with `gzip -t`", "looseleaf: stored 1 entity\n"});
  }
  for (const std::string command : {"get", "delete", "explain"}) {
    CAPTURE(command);
    check_status(cluster.looseleaf({command, "-"}, whole.substr(0, 12)), 3,
                 {"error: the gzip data cannot be read to its end\n", "file: standard input\n"});
  }
  const std::string bad = cluster.directory().write("bad.gz", std::string("\x1f\x8b\x00garbage", 10));
  const std::string good = cluster.directory().write("good.jsonl", entity(7));
  check_run(cluster.looseleaf({"put", good, bad}), 3, "", {"the gzip data cannot", "hint: nothing was stored; "});
}

// Read as text, a compressed file was one error for each line that it happened to have.
TEST_CASE("a file that is compressed otherwise is refused as a whole, and says how to read it") {
  const TestCluster cluster = initialised();
  const std::string good = cluster.directory().write("good.jsonl", entity(1) + "\n");
  const std::string packed = cluster.directory().write("packed.zst", "\x28\xB5\x2F\xFD and what follows");
  check_run(cluster.looseleaf({"put", good, packed}), 3, "",
            {"looseleaf: error: the input is not UTF-8 text\n", "  file: " + packed + "\n", "  format: zstd\n",
             "hint: nothing was stored; convert it first: `zstdcat FILE | looseleaf ...`\n"});
  CHECK(rows_of(cluster, "entities") == 0);
  for (const std::string command : {"put", "get -", "delete -"}) {
    CAPTURE(command);
    // The first byte alone tells nothing yet.
    const std::string script = fmt::format(
        R"({{ head -c 1 "$1"; sleep 0.3; tail -c +2 "$1"; }} | "$LOOSELEAF_BIN" --cluster "$0" {})", command);
    const cli::ProcessResult result = run({"sh", "-c", script, cluster.file(), packed});
    check_status(result, 3, {"error: the input is not UTF-8 text\n", "file: standard input\n", "format: zstd\n"});
    CHECK(times("error: ", result.err) == 1);
  }
  check_run(cluster.looseleaf({"put"}, "\xFF\xFE{\0"), 3, "", {"format: UTF-16\n", "`iconv -f UTF-16 -t UTF-8 FILE |"});
  check_run(cluster.looseleaf({"put"}, std::string("{\0\"\0", 4)), 3, "", {"`iconv -f UTF-16LE -t UTF-8 FILE |"});
  check_run(cluster.looseleaf({"put"}, gzipped("\xFF\xFE{")), 3, "", {"format: UTF-16\n"});
  check_run(cluster.looseleaf({"put"}, "BZ\n" + entity(1)), 1, id_of(1) + "\n", {"error: text between entities\n"});
}

TEST_CASE("a FIFO is opened when its turn comes") {
  const TestCluster cluster = initialised();
  const std::string fifo = cluster.directory().path() + "/fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const std::string good = cluster.directory().write("good.jsonl", entity(0) + entity(1));
  cli::Process put = cluster.start({"put", good, fifo});
  wait_until("the first file is stored", [&] { return put.out() == id_of(0) + "\n" + id_of(1) + "\n"; });
  std::ofstream(fifo) << entity(2);
  check_run(put.wait(), 0, id_of(0) + "\n" + id_of(1) + "\n" + id_of(2) + "\n");
}

TEST_CASE("every occurrence of an id takes effect in input order and is printed") {
  const TestCluster cluster = initialised();
  create_index(cluster,
               R"({"table": "by_round", "properties": [{"name": "round", "type": "int"}], "shard_on": "round"})");
  std::string input, ids;
  for (int round = 0; round < 50; ++round) {
    input += entity(1, fmt::format(R"("round":{})", round)) + "\n" + entity(2, fmt::format(R"("r":{})", round)) + "\n";
    ids += id_of(1) + "\n" + id_of(2) + "\n";
  }
  check_run(cluster.looseleaf({"put"}, input), 0, ids);
  CHECK(rows_of(cluster, "entities") == 2);
  check_run(cluster.looseleaf({"get", id_of(1), id_of(2)}), 0,
            entity(1, R"("round":49)") + "\n" + entity(2, R"("r":49)") + "\n");
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("an entity without an id gets a UUIDv7 as its first member") {
  const TestCluster cluster = initialised();
  const std::string before = to_string(Uuid::make_v7());
  const std::string put = check_status(cluster.looseleaf({"put"}, "{ \"a\": 1}\n{}\n"), 0);
  const std::vector<std::string> ids = lines_of(put);
  REQUIRE(ids.size() == 2);
  for (const std::string& id : ids) {
    CHECK(Uuid::parse(id));
    CHECK(id[12] == '7');
    CHECK(id.substr(0, 12) >= before.substr(0, 12));
  }
  CHECK(ids[0] != ids[1]);
  check_run(cluster.looseleaf({"get", ids[0], ids[1]}), 0,
            "{\"id\":\"" + ids[0] + "\", \"a\": 1}\n{\"id\":\"" + ids[1] + "\"}\n");
}

TEST_CASE("an id with dashes and capitals is kept so in the body and printed as 32 digits") {
  const TestCluster cluster = initialised();
  const std::string text = R"({"id":"018F2C4E-1A2B-7C3D-8E4F-5A6B7C8D9E0F","a":1})";
  const std::string id = "018f2c4e1a2b7c3d8e4f5a6b7c8d9e0f";
  check_run(cluster.looseleaf({"put"}, text), 0, id + "\n");
  check_run(cluster.looseleaf({"get", id}), 0, text + "\n");
  check_run(cluster.looseleaf({"get", "018f2c4e-1a2b-7c3d-8e4f-5a6b7c8d9e0f"}), 0, text + "\n");
}

TEST_CASE("the servers hold and get prints the entity byte for byte") {
  const std::vector<std::string> members = {
      R"("big":18446744073709551616)",
      R"("huge":123456789012345678901234567890.10e+5,"minus":-0.0,"exact":1.10)",
      R"("z":1,"a":2,"m":{"y":1,"b":2})",
      R"(  "spaced" :  [ 1 ,2,  3 ]  ,"tab":	true   )",
      R"("escaped":"\u00e9\u0041\/\b\f\n\r\t\"\\")",
      R"("nul":"a\u0000b","empty":"","":"no name")",
      R"("pair":"\ud83d\ude00","plain":"😀 é 中")",
      R"("quotes":"it's; DROP TABLE entities; -- \" %s _ ` ")",
      R"("nothing":null,"list":[],"object":{})",
  };
  const TestCluster cluster = initialised();
  std::string input;
  for (std::size_t i = 0; i < members.size(); ++i) {
    input += entity(i, members[i]) + "\n";
  }
  put_all(cluster, input);
  for (std::size_t i = 0; i < members.size(); ++i) {
    CAPTURE(members[i]);
    CHECK(stored_hex(cluster, id_of(i)) == hex_of(entity(i, members[i])) + "\n");
    check_run(cluster.looseleaf({"get", id_of(i)}), 0, entity(i, members[i]) + "\n");
  }
}

TEST_CASE("what a server compressed itself is read back") {
  const TestCluster cluster = initialised(1);
  const std::string text = entity(1, R"("made":"by SQL")");
  cluster.sql(0, fmt::format("INSERT INTO entities (id, updated, body) VALUES (UNHEX('{}'), NOW(6), COMPRESS('{}'))",
                             id_of(1), text));
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, text + "\n");
}

TEST_CASE("line breaks stay in the stored text, and get prints it on one line without insignificant white space") {
  const TestCluster cluster = initialised();
  const std::string text =
      "{\r\n  \"id\": \"" + id_of(1) + "\",\n  \"a b\": [ 1,\n 2 ],\t\"c\": \"x \\\" : , y\\\\\"\n}";
  const std::string line = "{\"id\":\"" + id_of(1) + R"(","a b":[1,2],"c":"x \" : , y\\"})";
  check_run(cluster.looseleaf({"put"}, "\n  " + text + "  \n"), 0, id_of(1) + "\n");
  CHECK(stored_hex(cluster, id_of(1)) == hex_of(text) + "\n");
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, line + "\n");
}

TEST_CASE("an immutable property may appear and stay, but not change before a delete, and only that put is refused") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "index_link", "properties": [{"name": "link", "type": "string"}],
                            "shard_on": "link", "immutable": true})");
  put_all(cluster, entity(1) + "\n" + entity(1, R"("link":"a","n":1)") + "\n" + entity(1, R"("link":"a")"));
  check_run(cluster.looseleaf({"put"}, entity(1)), 1, "", {"error: an immutable property would change\n"});
  check_run(cluster.looseleaf({"put"}, entity(1, R"("link":"b")") + "\n" + entity(2)), 1, id_of(2) + "\n",
            {"error: an immutable property would change\n", "line: 1\n", "id: " + id_of(1), "index: index_link\n",
             "hint: ", "stored 1 entity, rejected 1\n"});
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, entity(1, R"("link":"a")") + "\n");
  check_run(cluster.looseleaf({"delete", id_of(1)}), 0, id_of(1) + "\n");
  check_run(cluster.looseleaf({"put"}, entity(1, R"("link":"b")")), 0, id_of(1) + "\n");
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, entity(1, R"("link":"b")") + "\n");
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("with --if-absent put leaves entities that exist, says whether they are the same, and rejects none of them") {
  const TestCluster cluster = initialised();
  REQUIRE(cluster.looseleaf({"put"}, entity(1) + "\n" + entity(2)).status == 0);
  const std::string other = entity(2, R"("n":2)"), rejects = cluster.directory().write("rejects", "");
  const std::string input = entity(1) + "\n" + other + "\n" + entity(3) + "\n{}}\n";
  const cli::ProcessResult result = cluster.looseleaf({"put", "--if-absent", "--rejects", rejects}, input);
  check_status(result, 1,
               {"warning: the entity exists already\n  line: 1\n", "text: same\n", "id: " + id_of(1),
                "warning: the entity exists already\n  line: 2\n", "text: different\n", "id: " + id_of(2),
                "hint: put it without --if-absent to replace what is stored\n", "existing 2"});
  CHECK(holds_in_order(result.out, {id_of(3) + "\n"}));
  CHECK(read_text(rejects) == "}\n");
  check_run(cluster.looseleaf({"get", id_of(2), id_of(3)}), 0, entity(2) + "\n" + entity(3) + "\n");
  const cli::ProcessResult json = cluster.looseleaf({"put", "--if-absent", "--output", "json"}, other);
  check_status(json, 1, {R"("what":"the entity exists already")"});
  CHECK(json.out ==
        fmt::format(R"({{"id":"{}","status":"exists","error":"the entity exists already","line":1,"column":1,)"
                    R"("text":"different"}})",
                    id_of(2)) +
            "\n" + R"({"schema_version":1,"stored":0,"exists":1,"rejected":0,"failed":0,"unknown":0})" + "\n");
}

TEST_CASE("of several processes that put the same absent entities, each entity is stored by one") {
  const TestCluster cluster = initialised();
  constexpr int entities = 3000;
  std::vector<cli::Process> processes;
  for (int process = 0; process < 3; ++process) {
    processes.push_back(cluster.start({"put", "--if-absent", "--quiet", "--output", "json"},
                                      entity_lines(entities, fmt::format(R"("by":{})", process))));
  }
  const auto number_after = [](const std::string& text, const std::string& key) {
    return std::stoi(text.substr(text.find(key) + key.size()));
  };
  int stored = 0, existing = 0;
  for (std::size_t process = 0; process < processes.size(); ++process) {
    const cli::ProcessResult result = processes[process].wait();
    const int by_it = number_after(result.out, "\"stored\":");
    CHECK(result.status == (by_it == entities ? 0 : 1));
    const std::string count =
        fmt::format(R"(SELECT COUNT(*) FROM entities WHERE UNCOMPRESS(body) LIKE '%"by":{}}}')", process);
    CHECK(std::stoi(cluster.sql(0, count)) + std::stoi(cluster.sql(1, count)) == by_it);
    stored += by_it;
    existing += number_after(result.out, "\"exists\":");
  }
  CHECK(stored == entities);
  CHECK(existing == 2 * entities);
}

}  // namespace
}  // namespace looseleaf::test

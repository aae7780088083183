// looseleaf put: what cannot be stored is reported with its place, and everything else is stored.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/bad_files.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

constexpr std::size_t largest_body = 16 * 1024 * 1024 - 5;

// {"id":"…","deep":[[…]]} with `depth` objects and arrays open at once.
std::string nested(std::uint64_t number, std::size_t depth) {
  return entity(number, "\"deep\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']'));
}

bool is_open_in(pid_t process, const std::string& file) {
  const std::filesystem::directory_iterator open(fmt::format("/proc/{}/fd", process));
  return std::any_of(begin(open), end(open), [&](const std::filesystem::directory_entry& one) {
    std::error_code closed;
    return std::filesystem::read_symlink(one, closed) == file;
  });
}

// An entity of exactly so many bytes.
std::string of_size(std::uint64_t number, std::size_t size) {
  const std::size_t frame = entity(number, R"("fill":"")").size();
  return entity(number, "\"fill\":\"" + std::string(size - frame, 'x') + "\"");
}

TEST_CASE("an entity that cannot be stored is reported with line and column, and its neighbours are stored") {
  struct Case {
    std::string name;
    std::string text;  // on line 2
    const char* what;
    int column;
    const char* more = "";
  };
  const std::vector<Case> cases = {
      {"id null", R"({"id":null})", "id is not a UUID", 7, "hint: "},
      {"id a number", R"({"a":1,"id": 7})", "id is not a UUID", 14, "hint: "},
      {"id a boolean", R"({"id":true})", "id is not a UUID", 7, "hint: "},
      {"id empty", R"({"id":""})", "id is not a UUID", 7, "hint: "},
      {"id too short", R"({"id":"018f2c4e1a2b7c3d8e4f5a6b7c8d9e0"})", "id is not a UUID", 7, "hint: "},
      {"id not hexadecimal", R"({"id":"018f2c4e1a2b7c3d8e4f5a6b7c8d9e0g"})", "id is not a UUID", 7, "hint: "},
      {"duplicate key", R"({"a":1,"a":1})", "duplicate key", 8, "a\n"},
      {"duplicate key, nested", R"({"a":[{"b":1,"c":2,"b":3}]})", "duplicate key", 20, "b\n"},
      {"duplicate key, escaped", "{\"a\":1,\"\\u0061\":2}", "duplicate key", 8, "a\n"},
      {"two ids", R"({"id":"018f2c4e1a2b7c3d8e4f5a6b7c8d9e0f","id":1})", "duplicate key", 42, "id\n"},
      {"invalid UTF-8", "{\"a\":\"\xff\"}", "invalid UTF-8", 7},
      {"UTF-8 cut short", "{\"a\":\"\xe4\xb8\"}", "invalid UTF-8", 9},
      {"overlong UTF-8", "{\"a\":\"\xc0\xaf\"}", "invalid UTF-8", 7},
      {"surrogate in UTF-8", "{\"a\":\"\xed\xa0\x80\"}", "invalid UTF-8", 8},
      {"Latin-1", "{\"a\":\"caf\xe9\"}", "invalid UTF-8", 11},
      {"lone high surrogate", R"({"a":"\ud800"})", "lone surrogate", 13},
      {"lone low surrogate", R"({"a":"\udc00"})", "lone surrogate", 12},
      {"number", "17", "not a JSON object", 1, "  detail: number\nhint: write an entity as an object: "},
      {"string", R"("text")", "not a JSON object", 1, "  detail: string\nhint: "},
      {"null", "null", "not a JSON object", 1, "  detail: null\nhint: "},
      {"no JSON at all", "hello world", "text between entities", 1, "hint: start an entity with {"},
      {"a value is missing", R"({"a":})", "syntax error", 6},
      {"a colon is missing", R"({"a" 1})", "syntax error", 6},
      {"a comma too many", R"({"a":1,})", "syntax error", 8},
      {"single quotes", "{'a':1}", "syntax error", 2},
      {"a control character", "{\"a\":\"\x01\"}", "syntax error", 7},
      {"depth 129", nested(9, 129), "nested too deeply", 49 + 127, "128"},
  };
  const TestCluster cluster = initialised();
  const std::string rejects = cluster.directory().path() + "/rejects";
  for (const Case& test : cases) {
    CAPTURE(test.name);
    check_run(cluster.looseleaf({"put", "--rejects", rejects}, entity(1) + "\n" + test.text + "\n" + entity(2) + "\n"),
              1, id_of(1) + "\n" + id_of(2) + "\n",
              {fmt::format("looseleaf: error: {}", test.what), "  line: 2\n",
               fmt::format("  column: {}\n", test.column), test.more, "looseleaf: stored 2 entities, rejected 1\n"});
    CHECK(read_text(rejects) == test.text + "\n");
  }
}

TEST_CASE("depth 128 is stored, and a million is refused without harm") {
  const TestCluster cluster = initialised();
  check_run(cluster.looseleaf({"put"}, nested(1, 128) + "\n" + nested(2, 1'000'000) + "\n" + entity(3) + "\n"), 1,
            id_of(1) + "\n" + id_of(3) + "\n", {"error: nested too deeply\n", "line: 2\n", "stored 2 entities"});
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, nested(1, 128) + "\n");
}

TEST_CASE("the largest body is stored and read back, and one byte more is rejected") {
  const TestCluster cluster = initialised();
  const std::string largest = of_size(1, largest_body);
  REQUIRE(largest.size() == largest_body);
  const std::string rejects = cluster.directory().path() + "/rejects";
  const std::string too_large = of_size(2, largest_body + 1);
  check_run(cluster.looseleaf({"put", "--rejects", rejects}, largest + "\n" + too_large + "\n" + entity(3) + "\n"), 1,
            id_of(1) + "\n" + id_of(3) + "\n",
            {"error: body too large\n", "line: 2\n", "column: ", "stored 2 entities, rejected 1\n"});
  const bool rejected_as_it_came = read_text(rejects) == too_large + "\n";
  CHECK(rejected_as_it_came);
  const cli::ProcessResult explained = cluster.looseleaf({"explain", "-"}, of_size(2, 2 * largest_body) + too_large);
  CHECK(times("error: body too large\n", explained.err) == 2);
  const cli::ProcessResult got = cluster.looseleaf({"get", id_of(1)});
  CHECK(got.status == 0);
  const bool unchanged = got.out == largest + "\n";
  CHECK(unchanged);
}

TEST_CASE("an id that has to be made counts towards the largest body") {
  const TestCluster cluster = initialised();
  const std::string text = "{\"fill\":\"" + std::string(largest_body - 11, 'x') + "\"}";
  REQUIRE(text.size() == largest_body);
  check_run(cluster.looseleaf({"put"}, text), 1, "", {"error: body too large\n", "line: 1\n", "stored 0 entities"});
}

TEST_CASE("a body beyond the servers' max_allowed_packet is rejected with a hint and the rest is stored") {
  const TestCluster cluster({.shards = 1, .servers = 0, .extra_args = {"--max-allowed-packet=1M"}});
  REQUIRE(cluster.looseleaf({"init"}).status == 0);
  const std::string rejects = cluster.directory().path() + "/rejects";
  const std::string large = entity(2, fmt::format(R"("fill":"{}")", noise(2 * 1024 * 1024)));
  check_run(cluster.looseleaf({"put", "--rejects", rejects}, entity(1) + "\n" + large + "\n" + entity(3) + "\n"), 1,
            id_of(1) + "\n" + id_of(3) + "\n",
            {"error: body exceeds the server's max_allowed_packet\n", "line: 2\n", "max_allowed_packet: 1048576",
             "hint: raise max_allowed_packet", "stored 2 entities, rejected 1\n"});
  const bool rejected_as_it_came = read_text(rejects) == large + "\n";
  CHECK(rejected_as_it_came);
}

TEST_CASE("after a syntax error reading resumes at the next line that starts with a brace") {
  struct Case {
    std::string name;
    std::string input, rejected;
    int line;
  };
  const std::string one = entity(1), two = entity(2);
  const std::vector<Case> cases = {
      {"a line that is not closed", one + "\n{\"a\":1\n" + two + "\n", "{\"a\":1", 3},
      {"a broken pretty-printed entity", one + "\n{\n  \"a\": 1,\n  \"b\": ]\n}\n" + two + "\n",
       "{\n  \"a\": 1,\n  \"b\": ]\n}", 4},
      {"a bracket too many", one + "}\n" + two + "\n", "}", 1},
      {"a string that is not closed", one + "\n{\"a\":\"x}\n" + two + "\n", "{\"a\":\"x}", 2},
      {"lines of another format", one + "\na,b,c\n" + two + "\n", "a,b,c", 2},
  };
  const TestCluster cluster = initialised();
  const std::string rejects = cluster.directory().path() + "/rejects";
  for (const Case& test : cases) {
    CAPTURE(test.name);
    const cli::ProcessResult result = cluster.looseleaf({"put", "--rejects", rejects}, test.input);
    check_run(result, 1, id_of(1) + "\n" + id_of(2) + "\n",
              {"looseleaf: error: ", fmt::format("  line: {}\n", test.line), "stored 2 entities, rejected 1\n"});
    CHECK(read_text(rejects) == test.rejected + "\n");
  }
}

TEST_CASE("inside an array reading stops at a syntax error and says so") {
  struct Case {
    std::string name;
    std::string input;
    const char* what;
  };
  const std::vector<Case> cases = {
      {"a broken entity", "[" + entity(1) + ",\n{\"b\":},\n" + entity(2) + "]\n", "syntax error"},
      {"a comma is missing", "[" + entity(1) + "\n" + entity(2) + "]\n", "syntax error"},
      {"the array is not closed", "[" + entity(1) + ",\n", "array is not closed"},
      {"two commas", "[" + entity(1) + ",\n," + entity(2) + "]\n", "syntax error"},
  };
  const TestCluster cluster = initialised();
  for (const Case& test : cases) {
    CAPTURE(test.name);
    const cli::ProcessResult result = cluster.looseleaf({"put"}, test.input);
    check_run(result, 1, id_of(1) + "\n", {"looseleaf: ", "stored 1 entity, rejected 1\n"});
    CHECK(times(fmt::format("error: {}", test.what), result.err) == 1);
    CHECK(times("  line: 2\n", result.err) == 1);
    CHECK(times("the rest of the array was not read\n", result.err) == 1);
    CHECK(times("error: ", result.err) == 1);
    CHECK(times("\nhint: ", result.err) + times("\n  detail: ", result.err) > 0);
  }
}

TEST_CASE("an object that is not closed is reported with where it begins") {
  const TestCluster cluster = initialised();
  check_run(cluster.looseleaf({"put"}, entity(1) + "\n{\"a\":\n\n"), 1, id_of(1) + "\n",
            {"error: object is not closed\n", "  line: 4\n", "  detail: it begins at line 2, column 1\nhint: "});
  check_status(cluster.looseleaf({"put", "--output", "json"}, "{\"a\":"), 1, {"\"hint\":\""});
}

TEST_CASE("a well-formed array element that is no entity is rejected alone") {
  const TestCluster cluster = initialised();
  check_run(cluster.looseleaf({"put"}, "[" + entity(1) + ",7,{\"id\":8}," + entity(2) + "]"), 1,
            id_of(1) + "\n" + id_of(2) + "\n",
            {"error: not a JSON object\n", "error: id is not a UUID\n", "stored 2 entities, rejected 2\n"});
}

// A file of 100,000 lines that are no JSON made 100,000 messages.
TEST_CASE("20 failures of a kind are printed and the others are counted, in every command") {
  const TestCluster cluster = initialised();
  std::string junk;
  for (int i = 0; i < 1'000; ++i) {
    junk += fmt::format("junk {}\n", i);
  }
  const std::string ids = id_lines(1'000);
  const cli::ProcessResult put = cluster.looseleaf({"put"}, junk);
  check_run(put, 1, "",
            {"  line: 1\n", "  line: 20\n", "error: text between entities\n  entities: 980 more\n",
             "hint: give --verbose to see each of them\n", "stored 0 entities, rejected 1,000\n"});
  CHECK(times("error: text between entities\n", put.err) == 21);
  CHECK(times("error: text between entities\n", cluster.looseleaf({"put", "--verbose"}, junk).err) == 1'000);
  CHECK(times("error: text between entities\n", cluster.looseleaf({"explain", "-"}, junk).err) == 21);
  for (const std::string command : {"get", "delete"}) {
    CAPTURE(command);
    CHECK(times("warning: no such entity\n", cluster.looseleaf({command, "-"}, ids).err) == 21);
    CHECK(times("error: not an id\n", cluster.looseleaf({command, "-"}, junk).err) == 21);
    check_status(cluster.looseleaf({command, "-"}, ids), 1, {"no such entity\n  ids: 980 more\nhint: give --verbose"});
  }
  // What is said of where an object begins makes no kind of its own.
  std::string open_objects;
  for (int i = 0; i < 1'000; ++i) {
    open_objects += "{\"a\":1\n";
  }
  CHECK(times("error: object is not closed\n", cluster.looseleaf({"put"}, open_objects).err) == 21);
}

TEST_CASE("an input that looks like CSV is named so, with a command that stores or converts it") {
  const TestCluster cluster = initialised();
  check_status(cluster.looseleaf({"put"}, "id,name\n" + id_of(1) + ",x\n"), 1,
               {"warning: no line of the input begins with {\n", "hint: this looks like CSV; `looseleaf put --csv`"});
  for (const char* const separator : {";", "\t"}) {
    CAPTURE(separator);
    const auto row = [&](const std::string& id, const std::string& name) { return id + separator + name + "\n"; };
    const std::string csv = row("id", "name") + row(id_of(1), "\"a, b; c\"") + row(id_of(2), "x");
    const std::string file = cluster.directory().write("data", csv);
    const cli::ProcessResult put = cluster.looseleaf({"put", file});
    check_status(put, 1,
                 {"warning: no line of the input begins with {\n", "  file: " + file + "\n",
                  "hint: this looks like CSV; convert it to JSON Lines first, for example with `python3 "});
    const std::size_t begin = put.err.find("`python3") + 1;
    std::string command = put.err.substr(begin, put.err.find('`', begin) - begin);
    command.replace(command.find("FILE >"), 6, "\"$0\" >");
    command.replace(command.find("FILE.jsonl"), 10, "\"$0\".jsonl");
    REQUIRE(run({"sh", "-c", command, file}).status == 0);
    check_run(cluster.looseleaf({"put", file + ".jsonl"}), 0, id_of(1) + "\n" + id_of(2) + "\n");
    check_run(cluster.looseleaf({"get", id_of(1)}), 0, "{\"id\": \"" + id_of(1) + "\", \"name\": \"a, b; c\"}\n");
    check_status(cluster.looseleaf({"explain", "-"}, csv), 1, {"this looks like CSV"});
  }
  for (const std::string text : {"hello world\n", "a,b\n{\"a\":1}\n", "[1,2]\n", "[[1,2],[3,4]]\n", "7\n"}) {
    CAPTURE(text);
    CHECK(times("CSV", cluster.looseleaf({"put"}, text).err) == 0);
  }
}

TEST_CASE("a file is named beside the line, which counts anew in every file") {
  const TestCluster cluster = initialised();
  const std::string first = cluster.directory().write("first", entity(1) + "\n{\"id\":1}\n");
  const std::string second = cluster.directory().write("second", "{\"id\":1}\n");
  check_run(cluster.looseleaf({"put", first, second}), 1, id_of(1) + "\n",
            {"file: " + first + "\n", "line: 2\n", "file: " + second + "\n", "line: 1\n", "rejected 2\n"});
}

TEST_CASE("control characters of the input do not reach the messages") {
  const TestCluster cluster = initialised();
  const cli::ProcessResult result = cluster.looseleaf({"put"}, "{\"\\u001b[31m\":1,\"\\u001b[31m\":2}\n");
  check_status(result, 1, {"error: duplicate key\n"});
  CHECK(result.err.find('\033') == std::string::npos);
}

TEST_CASE("an entity's values do not reach the messages") {
  const TestCluster cluster = initialised();
  for (const std::string text : {R"({"id":7,"a":"secret"})", R"({"a":"secret","b":})", R"({"a":"secret","b":1,"b":2})",
                                 R"({"a":"secret" "b":2})", R"({"a":"secret)"}) {
    CAPTURE(text);
    const cli::ProcessResult result = cluster.looseleaf({"put"}, text);
    check_status(result, 1, {"error: "});
    CHECK(result.err.find("secret") == std::string::npos);
  }
}

TEST_CASE("a rejects file that cannot be written is refused before anything is stored") {
  const TestCluster cluster = initialised();
  check_run(cluster.looseleaf({"put", "--rejects", "/nonexistent/rejects"}, entity(1)), 3, "",
            {"error: cannot open the rejects file\n", "file: /nonexistent/rejects\n"});
  CHECK(rows_of(cluster, "entities") == 0);
}

TEST_CASE("if the rejects file cannot be written any more, messages name everything that it lacks") {
  const TestCluster cluster = initialised();
  const std::string input = repeated("x\n", 30);
  const cli::ProcessResult result = cluster.looseleaf({"put", "--rejects", "/dev/full"}, input);
  check_run(result, 3, "",
            {"error: cannot write to the rejects file\n", "reason: No space left on device\n",
             "hint: the file does not have all entities that are not stored; the messages after"});
  CHECK(times("error: cannot write to the rejects file", result.err) == 1);
  CHECK(times("\n  line: ", result.err) == 30);
}

TEST_CASE("a rejects file keeps what it has until something is read, because it may be the input that was forgotten") {
  const TestCluster cluster = initialised();
  const std::string file = cluster.directory().write("dump", entity(1) + "\n"),
                    silent = cluster.directory().path() + "/fifo";
  REQUIRE(::mkfifo(silent.c_str(), 0600) == 0);
  cli::Process put = cluster.start({"put", "--rejects", file, silent});
  wait_until("it waits for a writer", [&] { return is_open_in(put.pid(), silent); });
  CHECK(end_by(SIGINT, put).status == 130);
  CHECK(read_text(file) == entity(1) + "\n");
  check_run(cluster.looseleaf({"put", "--rejects", file}), 0, "",
            {"looseleaf: stored 0 entities: the input has none, so the rejects file stays as it is\n"});
  CHECK(read_text(file) == entity(1) + "\n");
  check_status(cluster.looseleaf({"put", "--rejects", file}, entity(2)), 0);
  CHECK(read_text(file).empty());  // nothing was rejected
}

TEST_CASE("a reject is in the file of rejects while the input goes on") {
  const TestCluster cluster = initialised();
  const std::string file = cluster.directory().path() + "/rejects", input = cluster.directory().path() + "/fifo";
  REQUIRE(::mkfifo(input.c_str(), 0600) == 0);
  cli::Process put = cluster.start({"put", "--rejects", file, input});
  int writer = -1;
  wait_until("it reads", [&] { return (writer = ::open(input.c_str(), O_WRONLY | O_NONBLOCK)) >= 0; });
  const std::string bad = "{\"id\":1}\n";
  REQUIRE(::write(writer, bad.data(), bad.size()) == static_cast<ssize_t>(bad.size()));
  wait_until("the reject is there", [&] { return read_text(file) == bad; });
  ::close(writer);
  check_status(put.wait(), 1, {"error: id is not a UUID\n"});
}

}  // namespace
}  // namespace looseleaf::test

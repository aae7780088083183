// Small things that grow when they are read: bodies that inflate, JSON that nests, files that include one another or do
// not end. Each is refused or read in bounded memory.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/hex.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

using namespace std::string_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long most_memory = 2048;  // MiB; sanitizers multiply
#else
constexpr long most_memory = 192;
#endif

// The most that any program run by this test has held so far.
long peak_mebibytes() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_maxrss / 1024;
}

// A body's header: the length that it claims.
std::string header(std::uint32_t length) {
  std::string bytes;
  for (int i = 0; i < 4; ++i, length >>= 8U) {
    bytes += static_cast<char>(static_cast<unsigned char>(length & 0xffU));
  }
  return bytes;
}

// The beginning of a stream that inflates to 2 GiB of white space: the same flushed block again and again.
std::string endless_stream() {
  constexpr std::size_t block = 4U << 20U;
  std::string input(block, ' ');
  std::string output(block, '\0');
  z_stream stream{};
  deflateInit(&stream, Z_BEST_COMPRESSION);
  std::vector<std::string> pieces;
  for (int i = 0; i < 2; ++i) {
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(output.data());
    stream.avail_out = static_cast<uInt>(output.size());
    deflate(&stream, Z_FULL_FLUSH);
    pieces.push_back(output.substr(0, output.size() - stream.avail_out));
  }
  deflateEnd(&stream);
  std::string bomb = pieces[0];
  for (int i = 1; i < 512; ++i) {
    bomb += pieces[1];
  }
  return bomb;
}

// A shell command that runs the program under test as "$looseleaf" on the cluster file "$1".
cli::ProcessResult shell(const std::string& script, const std::string& cluster_file) {
  return run({"sh", "-c", "looseleaf=$0; " + script, looseleaf_program(), cluster_file});
}

TEST_CASE("bodies that claim or inflate to gigabytes are unreadable, and their neighbours are not") {
  const TestCluster cluster = initialised(1);
  create_index(cluster, by_n);
  put_all(cluster, entity(1, "\"n\":1"));
  const std::string bomb = endless_stream();
  const std::vector<std::string> bodies = {header(100) + bomb, header((16U << 20U) - 5) + bomb,
                                           header(0x3fffffff) + bomb, header(0xffffffff) + bomb};
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    cluster.sql(0, fmt::format("INSERT INTO entities (id, updated, body) VALUES (x'{}', NOW(6), x'{}'); "
                               "INSERT INTO by_n VALUES (2, x'{}')",
                               id_of(i + 10), base::to_hex(bodies[i]), id_of(i + 10)));
    check_run(cluster.looseleaf({"get", id_of(i + 10)}), 3, "",
              {"looseleaf: error: a stored body cannot be decompressed\n", "id: " + id_of(i + 10), "hint: "});
  }
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, entity(1, "\"n\":1") + "\n");
  CHECK(cluster.looseleaf({"query", "by_n", "n=2"}).status == 3);
  CHECK(cluster.looseleaf({"query", "by_n", "n=1"}).out == entity(1, "\"n\":1") + "\n");
  const cli::ProcessResult verify = cluster.looseleaf({"verify", "--grace", "0"});
  CHECK(verify.status == 1);
  CHECK(times("unreadable", verify.out) >= bodies.size());
  CHECK(peak_mebibytes() < most_memory);
}

TEST_CASE("a fault behind a long key takes little more memory than its text") {
  const TestCluster cluster = initialised(1);
  const std::string member =
      fmt::format(R"("{}":[{}])", std::string(60'000, 'k'), fmt::join(std::vector(30'000, 0), ","));
  check_run(cluster.looseleaf({"put"}, R"({"id":5,)" + member + "}"), 1, "",
            {"error: id is not a UUID\n", "  column: 7\n", "rejected 1\n"});
  const std::string file = cluster.directory().write("long.json", "{" + member + R"(,"table":5})");
  check_run(cluster.looseleaf({"create-index", file}), 2, "", {"error: ", "  file: " + file + "\n"});
  CHECK(peak_mebibytes() < most_memory);
}

TEST_CASE("many large bodies that were stored in little room are read a few at a time") {
  const TestCluster cluster = initialised(1);
  create_index(cluster, by_n);
  constexpr std::uint64_t bodies = 12, size = 16'000'000;
  std::string ids;
  for (std::uint64_t i = 0; i < bodies; ++i) {
    cluster.sql(0, fmt::format("INSERT INTO entities (id, updated, body) VALUES (x'{0}', NOW(6), COMPRESS(CONCAT('{{"
                               "\"id\":\"{0}\",\"n\":1,\"a\":\"', REPEAT('a', {1}), '\"}}'))); "
                               "INSERT INTO by_n VALUES (1, x'{0}')",
                               id_of(i), size));
    ids += id_of(i) + "\n";
  }
  const std::string id_file = cluster.directory().write("ids", ids);
  const cli::ProcessResult got =
      shell("\"$looseleaf\" --cluster \"$1\" get - < " + id_file + " | wc -c", cluster.file());
  CHECK(std::stoull(got.out) > bodies * size);
  CHECK(shell("\"$looseleaf\" --cluster \"$1\" query by_n n=1 | wc -c", cluster.file()).out == got.out);
  CHECK(cluster.looseleaf({"verify"}).status == 0);
  CHECK(peak_mebibytes() < most_memory);
}

TEST_CASE("input without an end is read in bounded memory") {
  const TestCluster cluster = initialised(1);
  for (const std::string command : {"get -", "delete -", "put --quiet"}) {
    CAPTURE(command);
    const cli::ProcessResult result =
        shell("head -c 300000000 /dev/zero | \"$looseleaf\" --cluster \"$1\" " + command, cluster.file());
    CHECK(result.status == 1);
    CHECK(result.err.size() < 5000);
  }
  for (const std::string opened : {"[", "[{\"a\":"}) {
    CAPTURE(opened);
    const cli::ProcessResult result =
        shell("(printf '{\"a\":'; yes '" + opened +
                  "' | tr -d '\\n' | head -c 300000000) | \"$looseleaf\" --cluster \"$1\" put --quiet",
              cluster.file());
    CHECK(result.status == 1);
    CHECK(result.err.size() < 5000);
  }
  CHECK(peak_mebibytes() < most_memory);
}

TEST_CASE("put keeps to its memory where every entity has thousands of index rows") {
  constexpr long memory_of_put = most_memory > 192 ? most_memory : 64;  // MiB
  const TestCluster cluster = initialised(2);
  create_index(cluster, R"({"table": "by_tag", "properties": [{"name": "tags", "type": "int", "each": true}]})");
  std::vector<int> tags(10'900);
  std::iota(tags.begin(), tags.end(), 10'000);
  std::string input;
  for (std::uint64_t i = 0; i < 60; ++i) {
    input += entity(i, fmt::format("\"tags\":[{}]", fmt::join(tags, ","))) + "\n";
  }
  const std::string script =
      "import resource, subprocess, sys; print(subprocess.run(sys.argv[1:]).returncode, "
      "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)";
  const cli::ProcessResult result =
      run({"python3", "-c", script, looseleaf_program(), "--cluster", cluster.file(), "put", "--quiet"}, input);
  REQUIRE(result.out.starts_with("0 "));
  CHECK(std::stol(result.out.substr(2)) <= memory_of_put);
}

// Where a file stands that ought to be small.
struct File {
  std::string name;
  std::string text;  // empty: the name is that of a device
  std::string what;
};

TEST_CASE("definitions, cluster files and option files that are huge, deep or endless are refused") {
  const TemporaryDirectory directory;
  const std::string deep = std::string(1'000'000, '[');
  const std::string wide = fmt::format("{{\"shards\": [{},", fmt::join(std::vector<std::string>(500'000, "{}"), ","));
  const std::string good = directory.write("good.json", R"({"shards": [{"socket": "/nonexistent"}], "user": "a"})");
  const std::vector<File> json = {{"/dev/zero", "", "the file is too large"},
                                  {"deep", deep, "nested too deeply"},
                                  {"deep objects", "{\"shards\":" + deep, "nested too deeply"},
                                  {"wide", wide, "syntax error"},
                                  {"too wide", wide + wide + wide, "the file is too large"}};
  for (const File& file : json) {
    CAPTURE(file.name);
    const std::string path = file.text.empty() ? file.name : directory.write(file.name, file.text);
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"looseleaf", "--cluster", path, "status"}, {"looseleaf", "--cluster", good, "create-index", path}}) {
      check_run(run(command), 2, "", {"looseleaf: error: " + file.what + "\n", "file: " + path});
    }
  }
  CHECK(peak_mebibytes() < most_memory);
}

TEST_CASE("option files and password files that do not end are refused") {
  const TemporaryDirectory directory;
  const std::string cluster = directory.write("good.json", R"({"shards": [{"socket": "/nonexistent"}], "user": "a"})");
  // Ten files, each of which includes the next one a hundred times.
  for (int i = 0; i < 10; ++i) {
    const std::vector includes(100, fmt::format("!include {}.cnf\n", i + 1));
    directory.write(fmt::format("{}.cnf", i), i < 9 ? fmt::format("{}", fmt::join(includes, "")) : "[client]\n");
  }
  const std::vector<File> files = {
      {"/dev/zero", "", "an option file is too large"},
      {"long", "[client]\nuser=" + std::string(2'000'000, 'a') + "\n", "an option file is too large"},
      {"circle", "!include circle\n", "option files are nested too deeply"},
      {"0.cnf", "", "too many option files"}};
  for (const File& file : files) {
    CAPTURE(file.name);
    std::string path = file.name.front() == '/' ? file.name : directory.path() + "/" + file.name;
    path = file.text.empty() ? path : directory.write(file.name, file.text);
    const cli::ProcessResult result =
        run({"looseleaf", "--cluster", cluster, "--defaults-file", path, "get", id_of(1), "--timeout", "1"});
    check_status(result, 2, {"looseleaf: error: " + file.what + "\n", "file: ", "hint: "});
  }
  const cli::ProcessResult endless =
      run({"env", "LOOSELEAF_PASSWORD_FILE=/dev/zero", looseleaf_program(), "--cluster", cluster, "--defaults-file",
           directory.write("empty.cnf", ""), "get", id_of(1), "--timeout", "1"});
  check_status(endless, 2, {"looseleaf: error: the first line of the password file is too long\n", "hint: "});
  CHECK(peak_mebibytes() < most_memory);
}

}  // namespace
}  // namespace looseleaf::test

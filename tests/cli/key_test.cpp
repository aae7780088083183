// Keys: put --key, and get, update and delete by key.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

// The `id` is that of the key trip=7,column=BASE.
constexpr const char* base_id = "a8a7674721555796bfd7d455c330d58a";

std::string cell(const std::string& members) {
  return R"({"trip":7,"column":"BASE")" + members + "}";
}
std::string stored(const std::string& members) {
  return fmt::format(R"({{"id":"{}",)", base_id) + cell(members).substr(1) + "\n";
}

TEST_CASE("entities with the same key are one entity, which get, update and delete find by the key") {
  const TestCluster cluster = initialised();
  check_run(cluster.looseleaf({"put", "--key", "trip,column"}, cell(R"(,"n":1)") + cell(R"(,"n":2)")), 0,
            fmt::format("{0}\n{0}\n", base_id));
  check_run(cluster.looseleaf({"get", "--key", "column=BASE,trip=7"}), 0, stored(R"(,"n":2)"));
  check_run(cluster.looseleaf({"get", base_id, "--key", "trip=7,column=NOTES"}), 1, stored(R"(,"n":2)"),
            {"warning: no such entity\n"});
  check_run(cluster.looseleaf({"update", "--key", "trip=7,column=BASE", "--", "sed", "s/\"n\":2/\"n\":3/"}), 0,
            fmt::format("{}\n", base_id));
  check_run(cluster.looseleaf({"put", "--merge", "--key", "column,trip"}, cell(R"(,"m":1)")), 0,
            fmt::format("{}\n", base_id));
  check_run(cluster.looseleaf({"get", base_id}), 0, stored(R"(,"n":3,"m":1)"));
  check_run(cluster.looseleaf({"delete", "--key", "trip=7,column=BASE"}), 0, fmt::format("{}\n", base_id));
  check_status(cluster.looseleaf({"get", base_id}), 1, {"warning: no such entity\n"});
}

TEST_CASE("with --if-absent a key is stored once, and a line of CSV has a key as well") {
  const TestCluster cluster = initialised();
  const std::vector<std::string> put = {"put", "--key", "trip,column", "--if-absent"};
  check_status(cluster.looseleaf(put, cell("") + cell(R"(,"n":2)")), 1, {"warning: ", "stored 1 entity, ", "1"});
  check_run(cluster.looseleaf({"get", base_id}), 0, stored(""));
  check_run(
      cluster.looseleaf({"put", "--key", "trip,column", "--csv", "--types", "trip=int"}, "trip,column,n\n7,BASE,x\n"),
      0, fmt::format("{}\n", base_id));
  check_run(cluster.looseleaf({"get", base_id}), 0, stored(R"(,"n":"x")"));
}

TEST_CASE("an id that is not that of the key, a key that is incomplete, and an update that changes it are rejected") {
  const TestCluster cluster = initialised();
  const std::string rejects = cluster.directory().write("rejects", "");
  const std::string input = entity(1, R"("trip":7,"column":"BASE")") + "\n" + R"({"trip":7})" + "\n" +
                            R"({"trip":7.0,"column":"BASE"})" + "\n";
  check_run(
      cluster.looseleaf({"put", "--key", "trip,column", "--rejects", rejects}, input + cell("")), 1,
      fmt::format("{}\n", base_id),
      {fmt::format("error: id is not that of the key\n  line: 1\n  column: 7\n  detail: the key makes the id {}\n",
                   base_id),
       "error: the entity has no value that its key can have\n  line: 2\n  column: 1\n  property: column\n",
       "line: 3\n  column: 1\n  property: trip\n", "stored 1 entity, rejected 3\n"});
  CHECK(read_text(rejects) == input);
  check_run(cluster.looseleaf({"update", "--key", "trip=7,column=BASE", "--", "sed", "s/BASE/NOTES/"}), 1, "",
            {"error: the new text has another key\n", "hint: keep the values of the key; to change them, name the"});
  check_run(cluster.looseleaf({"get", base_id}), 0, stored(""));
}

TEST_CASE("an absent entity is named by its key, and a number by which it was named may have to be a string") {
  const TestCluster cluster = initialised();
  check_run(cluster.looseleaf({"put", "--quiet", "--csv", "--key", "trip"}, "trip\n7\n"), 0, "");
  const std::string absent = fmt::format("no such entity\n  key: trip=7\n  id: ");
  const std::string hint =
      "hint: if a value is a string, quote it: 'a=\"1\"'; `put --csv` without --types stores only strings\n";
  check_status(cluster.looseleaf({"get", "--key", "trip=7"}), 1, {"warning: " + absent, hint});
  check_status(cluster.looseleaf({"delete", "--key", "trip=7"}), 1, {"warning: " + absent, hint});
  check_status(cluster.looseleaf({"update", "--key", "trip=7", "--", "cat"}), 1, {"warning: " + absent, hint});
  const cli::ProcessResult text = cluster.looseleaf({"get", "--key", "trip=x"});
  check_status(text, 1, {"warning: no such entity\n  key: trip=x\n  id: "});
  CHECK(!contains(text.err, "hint"));
  CHECK(contains(cluster.looseleaf({"delete", "--output", "json", "--key", "trip=7"}).out,
                 R"("status":"not_found","error":"no such entity","key":"trip=7"})"));
  check_status(cluster.looseleaf({"get", "--key", R"(trip="7")"}), 0);
}

TEST_CASE("a name of the key that no entity has is pointed out, once, with the name that may be meant") {
  const TestCluster cluster = initialised();
  const std::vector<std::string> put = {"put", "--key", "tripp"};
  const std::string once = "error: no entity that was read has this property of the key\n  option: --key\n";
  const cli::ProcessResult json = cluster.looseleaf(put, cell("") + "\n" + cell(R"(,"n":2)"));
  check_run(json, 1, "",
            {"error: the entity has no value that its key can have\n", "line: 2\n", once, "  property: tripp\n",
             "hint: check the spelling: there is `trip`\n", "rejected 2\n"});
  CHECK(times("no entity that was read", json.err) == 1);
  check_run(cluster.looseleaf({"put", "--key", "driver.name"}, R"({"driver":{"id":1}})"), 1, "",
            {once, "  property: driver.name\n", "hint: check the spelling: capital letters"});
  for (const std::string& input : {cell("") + R"({"tripp":1})", cell("") + R"({"tripp":1.5})", std::string("{,}")}) {
    CAPTURE(input);
    CHECK(!contains(cluster.looseleaf(put, input).err, "no entity that was read"));
  }
}

TEST_CASE("a header of CSV without a column of the key is refused at once") {
  const TestCluster cluster = initialised();
  check_run(cluster.looseleaf({"put", "--csv", "--key", "tripp,column"}, "trip,column\n1,x\n2,y\n"), 2, "",
            {"error: the header has no such column\n  option: --key\n  field: tripp\n",
             "hint: check the spelling: there is `trip`; nothing of this input was stored\n", "stored 0 entities\n"});
  check_status(cluster.looseleaf({"put", "--csv", "--types", "a=json", "--key", "a.b"}, "a\n\"{\"\"b\"\":1}\"\n"), 0);
}

TEST_CASE("a value of a key may be as long as an entity, and may be any text") {
  const TestCluster cluster = initialised();
  const std::string value = std::string(15 << 20, 'x') + R"(,=\"\u0000\ud83d\ude00)";
  const std::string put = check_status(cluster.looseleaf({"put", "--key", "a"}, R"({"a":")" + value + "\"}"), 0);
  REQUIRE(put.size() == 33);
  CHECK(contains(cluster.looseleaf({"get", put.substr(0, 32)}).out, value));
}

TEST_CASE("names of entities that cannot be read are refused") {
  const TestCluster cluster = initialised();
  for (const char* const command : {"get", "delete"}) {
    CAPTURE(command);
    check_status(cluster.looseleaf({command, "--key", "a=1.5"}), 2,
                 {"error: a key cannot have this value\n", "hint: a key has strings, and whole numbers"});
    check_status(cluster.looseleaf({command, "-", "--key", "a=1"}), 2, {"error: ids must come either from"});
  }
  check_status(cluster.looseleaf({"put", "--key", "a,id"}), 2, {"error: the id cannot be in the key"});
}

}  // namespace
}  // namespace looseleaf::test

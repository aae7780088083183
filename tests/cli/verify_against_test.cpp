// looseleaf verify --against: what it prints of two stores, and what it refuses.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

struct TwoClusters {
  TwoClusters() {
    for (const TestCluster* cluster : {&here, &there}) {
      put_all(*cluster, entity_lines(50, R"("n":{0})"));
    }
  }

  [[nodiscard]] cli::ProcessResult compare(const std::vector<std::string>& options = {}) const {
    return here.looseleaf(joined({"verify", "--against", there.file(), "--grace", "0"}, options));
  }

  TestCluster here = initialised(2), there = initialised(3);
};

// Differences of every kind: 21 entities are missing on shard 0, one is extra, and one differs.
void plant_differences(const TwoClusters& stores) {
  std::vector<std::string> ids = {"delete"};
  for (std::uint64_t number = 0; number < 42; number += 2) {
    ids.push_back(id_of(number));
  }
  check_status(stores.there.looseleaf(ids), 0);
  put_all(stores.there, entity(1000) + "\n" + entity(43, R"("n":44)"));
}

TEST_CASE("verify --against says that two stores are the same, with status 0") {
  const TwoClusters stores;
  check_run(stores.compare(), 0,
            "shard  entities  missing  extra  different\n"
            "    0        25        0      0          0\n"
            "    1        25        0      0          0\n",
            {"looseleaf: 50 entities compared with 50 in " + stores.there.file() + ": the same\n"});
}

TEST_CASE("verify --against lists differences, counts them and says what to do, with status 1") {
  const TwoClusters stores;
  plant_differences(stores);
  const cli::ProcessResult samples = stores.compare();
  check_status(samples, 1,
               {" suspects rechecked, 0 were being written\n",  // 23, and seldom another one of the same digest's cell
                "looseleaf: 50 entities compared with 30 in " + stores.there.file() + ": 23 differences\n",
                "looseleaf: missing, different: run `looseleaf get ID | looseleaf put --cluster " + stores.there.file(),
                "looseleaf: extra: run `looseleaf delete ID --cluster " + stores.there.file()});
  CHECK(times("missing shard 0 other shard ", samples.out) == 20);
  CHECK(holds_in_order(samples.out,
                       {" entity " + id_of(0) + "\n", "different shard 1 other shard ", " entity " + id_of(43) + "\n",
                        "extra shard 0 other shard ", " entity " + id_of(1000) + "\n", "... 1 more missing shard 0\n",
                        "shard  entities  missing  extra  different\n"
                        "    0        25       21      1          0\n"
                        "    1        25        0      0          1\n"}));
  CHECK(times("missing shard 0", stores.compare({"--all"}).out) == 21);
}

TEST_CASE("verify --against has a JUnit report with a case for each shard") {
  const TwoClusters stores;
  plant_differences(stores);
  const std::string file = stores.here.directory().path() + "/against.xml";
  check_status(stores.compare({"--report", "junit=" + file, "--quiet"}), 1);
  CHECK(holds_in_order(read_text(file),
                       {"<testsuite name=\"looseleaf verify --against\" tests=\"2\" failures=\"2\" errors=\"0\"",
                        "name=\"shard 0\">\n<failure message=\"21 missing, 1 extra\">missing shard 0 other shard ",
                        "name=\"shard 1\">\n<failure message=\"1 different\">different shard 1 "}));
  stores.there.sql(1, "RENAME TABLE entities TO away");
  check_status(stores.compare({"--report", "junit=" + file}), 3, {"error: ", "shard: 1\n", stores.there.file()});
  CHECK(holds_in_order(read_text(file), {"tests=\"1\" failures=\"0\" errors=\"1\"", "<error message=\"", "</error>"}));
}

TEST_CASE("a damaged body and an entity that a copy has not reached have columns of their own") {
  const TestCluster here = initialised(2), copy = initialised(3);
  put_all(here, entity_lines(50));
  check_status(here.looseleaf({"copy", "--to", copy.file()}), 0, {"wrote 50 versions\n"});
  const auto compare = [&] { return here.looseleaf({"verify", "--against", copy.file(), "--grace", "0"}); };
  check_status(compare(), 0, {", a copy that follows: the same\n"});
  here.sql(0, fmt::format("UPDATE entities SET body = 'x' WHERE id = x'{}'", id_of(2)));
  put_all(here, entity(3, R"("n":1)"));
  const cli::ProcessResult found = compare();
  check_status(found, 1,
               {", a copy that follows: 1 difference, 1 unsettled\n", "looseleaf: unreadable: the body was ",
                "looseleaf: unsettled: let `looseleaf copy --to " + copy.file() + "` catch up"});
  CHECK(holds_in_order(found.out, {" entity " + id_of(2) + ": a stored body cannot be decompressed\n",
                                   "shard  entities  missing  extra  different  unreadable  unsettled\n"
                                   "    0        25        0      0          0           1          0\n"
                                   "    1        25        0      0          0           0          1\n"}));
  check_status(here.looseleaf({"copy", "--to", copy.file()}), 0, {"wrote 1 version\n"});
  CHECK(holds_in_order(compare().out, {"    1        25        0      0          0           0\n"}));
}

TEST_CASE("an index that is not the same in the other store causes a warning, and is no difference") {
  const TwoClusters stores;
  create_index(stores.here, by_n);
  create_index(stores.here, R"({"table": "by_s", "properties": [{"name": "s", "type": "string"}]})");
  create_index(stores.there, by_n_sharded);
  const cli::ProcessResult compared = stores.compare();
  check_status(compared, 0,
               {"warning: an index is not the same in the other store\n", "index: by_n\n", "there: different\n",
                "hint: ", "warning: an index is not the same in the other store\n", "index: by_s\n", "there: missing\n",
                "hint: ", ": the same\n"});
  CHECK(times("warning: ", compared.err) == 2);
}

TEST_CASE("verify --against refuses what it cannot compare, and names the other store's file in its errors") {
  const TestCluster here = initialised(), raw = TestCluster::shared();
  const auto against = [&](const std::string& file, const std::vector<std::string>& more = {}) {
    return here.looseleaf(joined({"verify", "--against", file}, more));
  };
  check_run(
      against(here.file()), 2, "",
      {"error: a store cannot be compared with itself\n", "cluster_id: ", "hint: name the cluster file of the other"});
  check_run(against(raw.file()), 2, "",
            {"error: ", "cluster_file: " + raw.file() + "\n",
             "hint: run `looseleaf --cluster " + raw.file() + " init` first"});
  check_run(against("/nowhere.json"), 2, "", {"error: ", "/nowhere.json"});
  const std::vector<std::pair<std::string, std::vector<std::string>>> refused = {
      {"--repair", {"--repair"}},
      {"--definitions", {"--definitions", "/"}},
      {"--definitions-only", {"--definitions-only"}},
      {"names of indexes", {"by_n"}}};
  for (const auto& [what, options] : refused) {
    CAPTURE(what);
    check_run(against(raw.file(), options), 2, "",
              {"error: " + what + " and --against cannot be combined\n", "hint: "});
  }
}

}  // namespace
}  // namespace looseleaf::test

// How the command line is read: help, version, and what is refused before any server is asked.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

const std::vector<std::string> commands = {"init",       "put",   "get",    "delete",     "query",   "create-index",
                                           "drop-index", "diff",  "apply",  "show-index", "explain", "backfill",
                                           "verify",     "clean", "status", "sandbox"};

TEST_CASE("help lists every command, on standard output when asked for") {
  const std::string help = check_status(run({"looseleaf", "--help"}), 0);
  CHECK(holds_in_order(help, {"usage: looseleaf COMMAND", "commands:\n", "common options:\n", "examples:\n"}));
  for (const std::string& command : commands) {
    CAPTURE(command);
    CHECK(times("\n  " + command + " ", help) == 1);
  }
}

TEST_CASE("the program alone and -h show examples first, then the commands in short") {
  const cli::ProcessResult help = run({"looseleaf", "-h"});
  check_status(help, 0);
  CHECK(help.out.starts_with("examples:\n  "));
  CHECK(holds_in_order(help.out, {"\n\nusage: looseleaf COMMAND", "\ncommands:\n", "`looseleaf --help`"}));
  CHECK_FALSE(contains(help.out, "--timeout"));
  for (const std::string& command : commands) {
    CHECK(times("\n  " + command + " ", help.out) == 1);
  }
  const cli::ProcessResult alone = run({"looseleaf"});
  CHECK(alone.status == 2);
  CHECK(alone.out.empty());
  CHECK(alone.err == help.out);
}

TEST_CASE("-h anywhere shows examples and options of the command in short, whatever else is wrong") {
  for (const std::string& command : commands) {
    CAPTURE(command);
    const cli::ProcessResult help = run({"looseleaf", command, "-h"});
    check_status(help, 0);
    CHECK(help.out.starts_with("examples:\n  "));
    CHECK(holds_in_order(help.out, {"\n\nusage: looseleaf " + command + " ", "`looseleaf " + command + " --help`"}));
    CHECK_FALSE(contains(help.out, "--cluster FILE"));
    CHECK(run({"looseleaf", "-h", command}) == help);
    CHECK(run({"looseleaf", "--cluster", "/nonexistent", command, "--nonsense", "--output", "xml", "x", "-h"}) == help);
  }
  CHECK(contains(run({"looseleaf", "query", "-h"}).out,
                 "\noptions: --order-by NAME, --desc, --limit N, --after TOKEN, --where COND,"));
  CHECK(run({"looseleaf", "query", "-h", "--help"}) == run({"looseleaf", "query", "--help"}));
  check_status(run({"looseleaf", "get", "--cluster", "/nonexistent", "--", "-h"}), 2,
               {"error: not an id\n", "id: -h\n"});
}

TEST_CASE("every command has a help of its own, which asks no server") {
  for (const std::string& command : commands) {
    CAPTURE(command);
    const cli::ProcessResult help = run({"looseleaf", command, "--help", "--cluster", "/nonexistent"});
    check_status(help, 0);
    CHECK(holds_in_order(help.out, {"usage: looseleaf " + command, "common options:\n", "--quiet", "--color WHEN"}));
    for (const std::string option : {"--cluster FILE", "--defaults-file FILE", "--ssl-mode MODE", "--verbose",
                                     "--progress WHEN", "--timeout S", "--max-connections N"}) {
      CAPTURE(option);  // a sandbox has no use for these, and its help once listed them
      CHECK(times("\n  " + option, help.out) == (command == "sandbox" ? 0 : 1));
    }
    CHECK(times("examples:\n  looseleaf", help.out) + times("examples:\n  export", help.out) +
              times("examples:\n  zcat", help.out) ==
          1);
  }
}

TEST_CASE("the version is printed") {
  const std::string version = check_status(run({"looseleaf", "--version"}), 0);
  CHECK(version.substr(0, 10) == "looseleaf ");
  CHECK(lines_of(version).size() == 1);
  CHECK(version.find('.') != std::string::npos);
}

TEST_CASE("help and version may be given as words") {
  CHECK(run({"looseleaf", "version"}) == run({"looseleaf", "--version"}));
  CHECK(run({"looseleaf", "--output", "json", "version"}) == run({"looseleaf", "--version", "--output", "json"}));
  for (const std::string& command : commands) {
    CAPTURE(command);
    CHECK(run({"looseleaf", "help", command}) == run({"looseleaf", command, "--help"}));
  }
  for (const std::vector<std::string>& whole :
       {std::vector<std::string>{"help"}, {"help", "help"}, {"help", "--help"}, {"version", "--help"}}) {
    CHECK(run(joined({"looseleaf"}, whole)) == run({"looseleaf", "--help"}));
  }
}

TEST_CASE("a wrong command line is refused with the nearest right one") {
  const std::string id = id_of(1);
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases = {
      {{"drop-index", "x", "--yes="},
       {"error: this option takes no value\n", "option: --yes\n", "value: \n",
        "hint: write --yes alone, or leave it out\n"}},
      {{"put", "--if-absent=false"}, {"error: this option takes no value\n", "value: false\n"}},
      {{"--verbose=1", "status"}, {"error: this option takes no value\n", "option: --verbose\n"}},
      {{"gett", id}, {"error: unknown command\n", "command: gett\n", "hint: did you mean `get`?\n"}},
      {{"qeury", "x"}, {"error: unknown command\n", "command: qeury\n", "hint: did you mean `query`?\n"}},
      {{"stauts"}, {"error: unknown command\n", "command: stauts\n", "hint: did you mean `status`?\n"}},
      {{"--verson"}, {"error: unknown option\n", "hint: did you mean `--version`?\n"}},
      {{"create"}, {"error: unknown command\n", "hint: did you mean `create-index`?\n"}},
      {{"frobnicate"}, {"error: unknown command\n", "command: frobnicate\n", "hint: see `looseleaf --help` for"}},
      {{"hlep"}, {"error: unknown command\n", "command: hlep\n", "hint: did you mean `help`?\n"}},
      {{"help", "putt"}, {"error: unknown command\n", "command: putt\n", "hint: did you mean `put`?\n"}},
      {{"help", "put", "get"}, {"error: unexpected argument\n", "argument: get\n", "hint: give one command\n"}},
      {{"version", "x"}, {"error: unexpected argument\n", "argument: x\n", "hint: see `looseleaf version --help`\n"}},
      {{"help", "--al"}, {"error: unknown option\n", "option: --al\n"}},
      {{"x", "put"}, {"error: unknown command\n", "command: x\n"}},
      {{"--x", "put"}, {"error: unknown option\n", "option: --x\n"}},
      {{"--x"}, {"error: unknown option\n", "option: --x\n", "hint: see `looseleaf --help`\n"}},
      {{"get", id, "--clutser", "x"},
       {"error: unknown option\n", "option: --clutser\n", "hint: did you mean `--cluster`?\n"}},
      {{"query", "x", "--limits=3"},
       {"error: unknown option\n", "option: --limits\n", "hint: did you mean `--limit`?\n"}},
      {{"get", id, "--rejects", "x"}, {"error: unknown option\n", "option: --rejects\n"}},
      {{"put", "-x"}, {"error: unknown option\n", "option: -x\n", "hint: see `looseleaf put --help`\n"}},
      {{"status", "now"}, {"error: unexpected argument\n", "argument: now\n", "hint: see `looseleaf status --help`\n"}},
      {{"update", id, "jq", "-c", ".n=2"},
       {"error: unknown option\n", "option: -c\n",
        "hint: if it is an option of your command, write `--` before that; see `looseleaf update --help`\n"}},
      {{"get"},
       {"error: an argument is missing\n", "argument: ID\n",
        "hint: give ids, or - to read them from standard input; see `looseleaf get --help`\n"}},
      {{"delete"}, {"error: an argument is missing\n", "argument: ID\n"}},
      {{"query"}, {"error: an argument is missing\n", "argument: INDEX\n", "hint: see `looseleaf query --help`\n"}},
      {{"create-index"}, {"error: an argument is missing\n", "argument: FILE\n"}},
      {{"drop-index"}, {"error: an argument is missing\n", "argument: TABLE\n"}},
      {{"sandbox"}, {"error: an argument is missing\n", "argument: ACTION\n"}},
      {{"sandbox", "begin"},
       {"error: invalid value\n", "argument: ACTION\n", "value: begin\n", "hint: choose one of start"}},
      {{"put", "--rejects"},
       {"error: an option needs a value\n", "option: --rejects\n", "hint: see `looseleaf put --help`\n"}},
      {{"status", "--output", "xml"}, {"error: invalid value\n", "value: xml\n", "hint: choose one of text, json\n"}},
      {{"status", "--ssl-mode", "yes"}, {"error: invalid value\n", "value: yes\n", "verify-identity"}},
      {{"status", "--color", "blue"}, {"error: invalid value\n", "hint: choose one of auto, always, never\n"}},
      {{"status", "--progress", "on"}, {"error: invalid value\n", "value: on\n"}},
      {{"status", "--timeout", "soon"},
       {"error: not a number of seconds\n", "value: soon\n", "hint: give a number from 0.001 to 31622400, or"}},
      {{"query", "x", "--ids", "--count"},
       {"error: --ids, --count and --explain cannot be combined\n", "hint: give only one of them\n"}},
      {{"sandbox", "start", "--dir", "/nonexistent/x", "--shards", "2", "--servers", "3"},
       {"error: more servers than shards\n", "  servers: 3\n",
        "hint: raise --shards or lower --servers: every server"}},
      {{"sandbox", "start", "--dir", "/nonexistent/x", "--shards", "33"},
       {"error: too many servers for one machine\n", "  servers: 33\n  most: 32\n",
        "hint: give --servers: several shards"}},
      {{"trigger", "run", "n", "--tiemout", "5", "--", "cat"},
       {"error: unknown option\n", "  option: --tiemout\n", "hint: did you mean `--timeout`?"}},
      {{"query", "x", "--order-by", ""},
       {"error: an option has an empty value\n", "  option: --order-by\n", "hint: leave the option out, or"}},
      {{"put", "--rejects", "--merge", "x"},
       {"error: another option is the value of --rejects\n", "  option: --rejects\n  value: --merge\n",
        "hint: write --rejects FILE; a file whose name begins with -- is ./--name\n"}},
      {{"status", "[x]"}, {"error: unexpected argument\n", "argument: [x]\n"}},
      {{"query", "x", "--order-by", "[n]", "--limit", "x"},
       {"error: not a whole number\n", "option: --limit\n", "value: x\n"}},
      {{"put", "--rejects", "--", "x"}, {"error: another option is the value of --rejects\n", "  value: --\n"}},
      {{"clean", "--metrics-file", "--full"}, {"error: another option is the value of --metrics-file\n"}},
      {{"verify", "--definitions", ""}, {"error: an option has an empty value\n", "  option: --definitions\n"}},
      // The next word would be its value.
      {{"put", "--rejects=", "input", "other"}, {"error: an option has an empty value\n", "  option: --rejects\n"}},
      {{"query", "--where=", "by_n"}, {"error: an option has an empty value\n", "  option: --where\n"}},
      {{"verify", "--grace", "x"}, {"error: not a whole number\n", "option: --grace\n"}},
      {{"init", "--accept-empty-shard", "one"}, {"error: not a whole number\n", "value: one\n"}},
  };
  for (const auto& [arguments, err] : cases) {
    INFO(fmt::format("{}", fmt::join(arguments, " ")));
    std::vector<std::string> command = joined({"looseleaf"}, arguments);
    if (arguments.back() != "--rejects") {
      command = joined(command, {"--cluster", "/nonexistent"});
    }
    const cli::ProcessResult result = run(command);
    check_run(result, 2, "", err);
    CHECK(result.err.substr(0, 18) == "looseleaf: error: ");
  }
}

TEST_CASE("with --output json every message is an object on a line, even if the command line is wrong") {
  const std::string wrong_option =
      R"({"event":"error","what":"unknown option","context":{"option":"--x"},"hint":"see `looseleaf get --help`",)"
      R"("exit_status":2})";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--output", "json", "get", "--x"}, wrong_option},
      {{"get", "--x", "--output=json"}, wrong_option},
      {{"get", "--output", "text", "--x", "--output", "json"}, wrong_option},
      {{"frobnicate", "--output", "json"},
       R"({"event":"error","what":"unknown command","context":{"command":"frobnicate"},)"
       R"("hint":"see `looseleaf --help` for the commands","exit_status":2})"},
      {{"--output", "json"},
       R"({"event":"error","what":"no command was given","context":{},"hint":"see `looseleaf --help`","exit_status":2})"},
      {{"status", "--output", "json", "--cluster", "/nonexistent\x9b"},
       R"({"event":"error","what":"the file cannot be read","context":{"file":"/nonexistent)"
       "\uFFFD"
       R"(",)"
       R"("reason":"No such file or directory"},"hint":"name the cluster file with --cluster or LOOSELEAF_CLUSTER",)"
       R"("exit_status":2})"}};
  for (const auto& [arguments, err] : cases) {
    INFO(fmt::format("{}", fmt::join(arguments, " ")));
    const cli::ProcessResult result = run(joined({"looseleaf"}, arguments));
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(result.err == err + "\n");
  }
  check_run(run({"looseleaf", "get", "--x", "--output", "json", "--output", "text"}), 2, "", {"looseleaf: error: "});
  check_run(run({"looseleaf", "get", "--x", "--", "--output", "json"}), 2, "", {"looseleaf: error: "});
}

TEST_CASE("--quiet prints no note of any command, but warnings, errors and what was asked for") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_n);
  put_all(cluster, entity_lines(3, "\"n\":{}"));
  check_run(cluster.looseleaf({"query", "by_n", "--ids", "--quiet", "--verbose"}), 0, id_lines(3));
  check_run(cluster.looseleaf({"query", "by_n", "--ids", "--quiet", "--limit", "1"}), 0, id_of(0) + "\n", {"next: "});
  check_run(cluster.looseleaf({"get", id_of(0), id_of(9), "--quiet"}), 1, entity(0, "\"n\":0") + "\n",
            {"looseleaf: warning: no such entity\n"});
  cluster.sql(0, "DELETE FROM by_n");
  const std::string found = check_status(cluster.looseleaf({"verify", "--quiet", "--verbose"}), 1);
  CHECK(holds_in_order(found, {"missing by_n shard 0 entity " + id_of(0), "index  shard  rows"}));
  check_status(cluster.looseleaf({"verify", "--quiet", "--repair"}), 0);
  check_status(cluster.looseleaf({"clean", "--quiet"}), 0);
  check_status(cluster.looseleaf({"backfill", "--quiet"}), 0);
  check_status(cluster.looseleaf({"init", "--quiet"}), 0);
  check_run(cluster.looseleaf({"delete", id_of(0), "--quiet"}), 0, "");
  check_run(cluster.looseleaf({"drop-index", "by_n", "--yes", "--quiet"}), 0, "");
}

// The hint was wrong about 0 before, some options took 0 for no limit, and huge numbers became small ones.
TEST_CASE("a number is taken from one end of the range that the hint names to the other, and not beyond") {
  struct Case {
    std::vector<std::string> command;
    std::string option;
    std::vector<std::string> out_of_range;
    std::string least, most;
  };
  const std::string largest = "18446744073709551615";
  const std::vector<Case> cases = {
      {{"status"}, "--timeout", {"-1", "0", "0.0009", "31622400.5", "inf", "nan", "1s", "1e300"}, "0.001", "31622400"},
      {{"status"}, "--max-connections", {"3", "1001"}, "4", "1000"},
      {{"query", "x"}, "--limit", {"-1", "0", "18446744073709551616"}, "1", largest},
      {{"init"}, "--accept-empty-shard", {"4096", "4294967296"}, "0", "4095"},
      {{"verify"}, "--grace", {"31622401", "4294967296"}, "0", "31622400"},
      {{"verify"}, "--max-rate", {"0"}, "1", largest},
      {{"backfill"}, "--max-load", {"0"}, "1", largest},
      {{"clean"}, "--max-lag", {"0", "31622401"}, "0.001", "31622400"},
      {{"clean", "--follow", "--full"}, "--full-every", {"0", "31622401", largest}, "1", "31622400"},
      {{"sandbox", "stop"}, "--shards", {"0", "4097", "4294967298"}, "1", "4096"},
      {{"sandbox", "stop"}, "--servers", {"0", "33", "4294967298"}, "1", "32"},
  };
  const auto run_with = [](const Case& test, const std::string& value) {
    return run(joined(joined({"looseleaf", "--cluster", "/nonexistent"}, test.command), {test.option, value}));
  };
  for (const Case& test : cases) {
    CAPTURE(test.option);
    for (const std::string& value : test.out_of_range) {
      CAPTURE(value);
      check_run(run_with(test, value), 2, "",
                {test.least == "0.001" ? "error: not a number of seconds\n" : "error: a number out of range\n",
                 "  option: " + test.option + "\n", "  value: " + value + "\n",
                 fmt::format("hint: give a number from {} to {}, or leave the option out\n", test.least, test.most)});
    }
    for (const std::string& value : {test.least, test.most}) {
      CAPTURE(value);
      CHECK_FALSE(contains(run_with(test, value).err, "give a number"));
    }
  }
}

TEST_CASE("control characters of an argument do not reach the terminal") {
  const cli::ProcessResult result = run({"looseleaf", "\033[2Jget\n"});
  check_run(result, 2, "", {"error: unknown command\n", "\\u001b[2Jget\\u000a\n"});
}

TEST_CASE("messages have colours only if that is asked for") {
  const cli::ProcessResult colored = run({"looseleaf", "status", "--cluster", "/nonexistent", "--color", "always"});
  check_status(colored, 2, {"\033[", "error", "the file cannot be read\n"});
  const cli::ProcessResult plain = run({"looseleaf", "status", "--cluster", "/nonexistent"});
  check_status(plain, 2, {"looseleaf: error: the file cannot be read\n"});
  CHECK(plain.err.find('\033') == std::string::npos);
}

TEST_CASE("an option that is given more than once is warned of, because only the last value counts") {
  const TestCluster cluster = initialised();
  check_status(cluster.looseleaf({"status", "--timeout", "5", "--quiet", "--timeout=6"}), 0,
               {"warning: an option was given more than once; only its last value counts\n",
                "  option: --timeout\n  value: 6\nhint: give it once\n"});
  check_status(cluster.looseleaf({"export", "--fields", "id", "--fields", "n"}), 0,
               {"  option: --fields\n  value: n\nhint: give it once, with commas between the names\n"});
  check_status(cluster.looseleaf({"--timeout", "5", "status", "--quiet", "--quiet"}), 0);
  const cli::ProcessResult twice =
      run({"looseleaf", "--cluster", "/nonexistent", "--cluster", "/nowhere", "status", "--cluster", cluster.file()});
  check_status(twice, 0, {"  option: --cluster\n  value: " + cluster.file() + "\nhint: give it once\n"});
  CHECK(times("warning: ", twice.err) == 1);
  check_status(cluster.looseleaf({"--timeout", "5", "--timeout", "6", "status"}), 0,
               {"  value: 6\nhint: give it once\n"});
}

TEST_CASE("options may stand before the command and be given with an equals sign, and brackets mean nothing") {
  check_run(run({"looseleaf", "put", "--", "[/nonexistent]"}), 3, "", {"file: [/nonexistent]\n"});
  check_run(run({"looseleaf", "--cluster=/nonexistent", "status"}), 2, "", {"file: /nonexistent\n"});
  check_run(run({"looseleaf", "status", "--cluster", "/first", "--cluster", "/nonexistent"}), 2, "",
            {"file: /nonexistent\n"});
}

}  // namespace
}  // namespace looseleaf::test

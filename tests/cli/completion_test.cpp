// What is offered to somebody who types a command line, without a server.
#include "cli/completion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/help.hpp"

using namespace looseleaf::cli;

namespace {

using Words = std::vector<std::string>;

Completion complete(const Words& words) {
  Globals globals;
  return completion_of(all_commands(), words, globals);
}

Words offered(const Words& words) {
  Words texts;
  const Completion completion = complete(words);
  CHECK(completion.wanted == Wanted::words);
  for (const auto& candidate : completion.candidates) {
    texts.push_back(candidate.text);
  }
  return texts;
}

bool holds(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Completion only(Wanted wanted, const std::string& lead = "") {
  Completion completion;
  completion.wanted = wanted;
  completion.lead = lead;
  return completion;
}

void check_same(const Completion& got, const Completion& expected) {
  CHECK(got.wanted == expected.wanted);
  CHECK(got.lead == expected.lead);
  CHECK(got.candidates == expected.candidates);
  CHECK(got.index == expected.index);
  CHECK(got.given == expected.given);
}

}  // namespace

TEST_CASE("every command is offered with its summary, and so are help and version") {
  std::vector<Candidate> expected;
  for (const Command& command : all_commands()) {
    expected.push_back({command.name, command.summary});
  }
  for (const BuiltIn& built_in : built_ins()) {
    expected.push_back({built_in.name, built_in.summary});
  }
  CHECK(complete({"help", ""}).candidates == expected);
  CHECK(complete({"help", "put", ""}).candidates.empty());
  CHECK(complete({""}).candidates == expected);
  CHECK(complete({}).candidates == expected);
  CHECK(complete({"--quiet", "--timeout", "5", "--output=json", ""}).candidates == expected);
}

TEST_CASE("every option of a command is offered after it, the common ones of use to it too, and none of another's") {
  Globals globals;
  for (const Command& command : all_commands()) {
    CAPTURE(command.name);
    Words expected{"--help", "-h"};
    for (const auto& parameters : {command.parameters, common_parameters_for(&command, globals)}) {
      for (const auto& parameter : parameters) {
        if (parameter.is_option()) {
          expected.push_back(parameter.name);
        }
      }
    }
    Words got = offered({command.name, "-"});
    std::sort(got.begin(), got.end());
    std::sort(expected.begin(), expected.end());
    CHECK(got == expected);
  }
  const Words first = offered({"-"});
  CHECK(first.size() == common_parameters(globals).size() + 3);
  CHECK(holds(first, "--version"));
}

TEST_CASE("the values of every option and argument are completed as its name in the help says") {
  const std::map<std::string, Wanted> kinds = {
      {"FILE", Wanted::files},   {"DIR", Wanted::folders},   {"INDEX", Wanted::indexes},    {"TABLE", Wanted::indexes},
      {"ID", Wanted::words},     {"N", Wanted::words},       {"S", Wanted::words},          {"K", Wanted::words},
      {"ROWS", Wanted::words},   {"TOKEN", Wanted::words},   {"ACTION", Wanted::words},     {"MODE", Wanted::words},
      {"FORMAT", Wanted::words}, {"WHEN", Wanted::words},    {"COND", Wanted::words},       {"POSITION", Wanted::words},
      {"NAME", Wanted::words},   {"COMMAND", Wanted::words}, {"junit=FILE", Wanted::words}, {"TEXT", Wanted::words},
      {"NAMES", Wanted::words},  {"TYPES", Wanted::words},   {"KEY", Wanted::words}};
  Globals globals;
  for (const Command& command : all_commands()) {
    for (const auto& parameters : {command.parameters, common_parameters(globals)}) {
      for (const auto& parameter : parameters) {
        if (!parameter.is_option() || parameter.is_flag()) {
          continue;
        }
        CAPTURE(parameter.name);
        REQUIRE_MESSAGE(kinds.contains(parameter.value), parameter.value, " means nothing to completions yet");
        const Completion completion = complete({command.name, parameter.name, ""});
        CHECK(completion.wanted == kinds.at(parameter.value));
        const bool has_words = !parameter.choices.empty() || parameter.value.find('=') != std::string::npos;
        CHECK(completion.candidates.empty() != has_words);
        CHECK(complete({command.name, parameter.name + "=", ""}).wanted == complete({command.name, ""}).wanted);
      }
    }
  }
}

TEST_CASE("an option's possible values are offered, after an equals sign too") {
  CHECK(offered({"status", "--output", ""}) == Words{"text", "json"});
  CHECK(offered({"export", "--output", ""}) == Words{"text", "json", "csv"});
  CHECK(offered({"status", "--output=j"}) == Words{"--output=text", "--output=json"});
  CHECK(offered({"--color", ""}) == Words{"auto", "always", "never"});
  CHECK(offered({"sandbox", ""}) == Words{"start", "stop", "status", "delete"});
  CHECK(offered({"sandbox", "stop", "-"}) ==
        Words{"--shards", "--servers", "--dir", "--output", "--quiet", "--color", "--help", "-h"});
  CHECK(offered({"status", "--quiet="}).empty());
  CHECK(offered({"status", "--nothing="}).empty());
}

TEST_CASE("files and folders are left to the shell, which is told where their names begin") {
  check_same(complete({"put", "a.json", ""}), only(Wanted::files));
  check_same(complete({"create-index", ""}), only(Wanted::files));
  check_same(complete({"--cluster", ""}), only(Wanted::files));
  check_same(complete({"status", "--cluster=c"}), only(Wanted::files, "--cluster="));
  check_same(complete({"verify", "--definitions", "x"}), only(Wanted::folders));
  check_same(complete({"sandbox", "start", "--dir=x"}), only(Wanted::folders, "--dir="));
  CHECK(offered({"verify", "--report", "ju"}) == Words{"junit="});
  check_same(complete({"verify", "--report", "junit="}), only(Wanted::files, "junit="));
  CHECK(offered({"verify", "--report=ju"}) == Words{"--report=junit="});
  check_same(complete({"verify", "--report=junit=x"}), only(Wanted::files, "--report=junit="));
}

TEST_CASE("index names are wanted where they are due, each once, and properties after an index") {
  check_same(complete({"query", ""}), only(Wanted::indexes));
  Completion expected = only(Wanted::indexes);
  expected.given = {"one", "two"};
  check_same(complete({"drop-index", "one", "--yes", "two", ""}), expected);
  expected = only(Wanted::properties);
  expected.index = "by_user";
  check_same(complete({"query", "by_user", "us"}), expected);
  check_same(complete({"query", "--limit", "3", "by_user", "user_id=1", ""}), expected);
  check_same(complete({"query", "--", "by_user", "-"}), expected);
  CHECK(offered({"query", "by_user", "user_id="}).empty());
  CHECK(offered({"query", "by_user", "name^"}).empty());
  CHECK(offered({"query", "by_user", "--where", ""}).empty());
}

TEST_CASE("what cannot be repeated is offered once, and options where no argument can follow") {
  CHECK_FALSE(holds(offered({"query", "i", "--desc", "--limit=3", "-"}), "--desc"));
  CHECK_FALSE(holds(offered({"query", "i", "--desc", "--limit=3", "-"}), "--limit"));
  CHECK(holds(offered({"query", "i", "--where", "a=1", "-"}), "--where"));
  CHECK(offered({"status", ""}) == offered({"status", "-"}));
  CHECK(offered({"get", ""}) == Words{"-"});
  CHECK(offered({"get", "71f0c4d2291844cca2df6f486e96e37c", ""}).empty());
}

TEST_CASE("nothing is offered after a word that is no command") {
  CHECK(offered({"nonsense", ""}).empty());
  CHECK(offered({"--quiet", "nonsense", "-"}).empty());
}

TEST_CASE("the cluster that the line names is the one that will be asked") {
  Globals globals;
  CHECK(completion_of(all_commands(), {"--cluster", "a", "query", "--ssl-mode=required", ""}, globals).wanted ==
        Wanted::indexes);
  CHECK(globals.cluster == "a");
  CHECK(globals.ssl_mode == "required");
}

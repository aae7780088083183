// The program's parts that need no server: texts, statuses, parsing.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <looseleaf/error.hpp>
#include <sstream>

#include "cli/app.hpp"
#include "cli/commands/commands.hpp"
#include "cli/help.hpp"
#include "cli/registry/exit_status.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"

using namespace looseleaf;
using namespace looseleaf::cli;

namespace {

// What a command line came to: the status, and what the one command of the registry was given.
struct Run {
  ExitStatus status = ExitStatus::done;
  bool ran = false;
  Globals globals;
  std::vector<std::string> items, tags;
  std::optional<std::uint64_t> limit;
  bool flag = false;
  std::string mode;
};

Run run(std::vector<const char*> arguments) {
  Run result;
  Command command;
  command.name = "show";
  command.summary = "show things";
  command.parameters = {
      {.name = "ITEM", .help = "", .target = &result.items, .required = true},
      {"--limit", "N", "", &result.limit},
      {"--flag", "", "", &result.flag},
      {"--mode", "M", "", &result.mode, {"fast", "slow"}},
      {"--tag", "T", "", &result.tags},
  };
  command.run = [&result](const Globals& globals) {
    result.ran = true;
    result.globals = globals;
    return ExitStatus::negative;
  };
  arguments.insert(arguments.begin(), "looseleaf");
  result.status = run_app({command}, static_cast<int>(arguments.size()), arguments.data());
  return result;
}

}  // namespace

TEST_CASE("text in XML holds no markup, no control characters and no broken UTF-8") {
  CHECK(escape_xml("a < b && \"c\" > 'd'\n\tü") == "a &lt; b &amp;&amp; &quot;c&quot; &gt; 'd'\n\tü");
  CHECK(escape_xml(std::string_view("a\0b\x1b"
                                    "c\r",
                                    6)) == "a\uFFFDb\uFFFDc\uFFFD");
  CHECK(escape_xml("\xff|\xEF\xBF\xBE|\xEF\xBF\xBF|\xEF\xBF\xBD") == "\uFFFD|\uFFFD|\uFFFD|\uFFFD");
}

TEST_CASE("control characters are escaped and nothing else is") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"plain", "plain"},
      {"", ""},
      {"a\tb\n", "a\\u0009b\\u000a"},
      {"\x1b[31m", "\\u001b[31m"},
      {"\x7f", "\\u007f"},
      {"\xC2\x9B", "\\u009b"},
      {"\xC2\xA0", "\xC2\xA0"},
      {"\xC3\xA9", "\xC3\xA9"},
      {"\xC2", "\\xc2"},
      {"\x9B", "\\x9b"},
      {"\xC0\x9B\xE0\x80\x9B", "\\xc0\\x9b\\xe0\\x80\\x9b"},
      {"\u061C\u200E\u200F\u202A\u202E\u2066\u2069", "\\u061c\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069"},
      {"\u2028\u2029", "\\u2028\\u2029"},
      {"\u2027\u202F\u2065\u200D\U0001F600", "\u2027\u202F\u2065\u200D\U0001F600"},
  };
  for (const auto& [text, escaped] : cases) {
    CHECK(escape_controls(text) == escaped);
  }
}

TEST_CASE("numbers are grouped by thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(counted(1, "entity", "entities") == "1 entity");
  CHECK(counted(2000, "entity", "entities") == "2,000 entities");
}

TEST_CASE("a table is aligned and has no trailing spaces") {
  const auto lines =
      format_table({{"name"}, {"rows", true}, {"note"}}, {{"index_\xC3\xA9", "7", ""}, {"i", "12345", "x"}});
  CHECK(lines == std::vector<std::string>{"name      rows  note", "index_\xC3\xA9      7", "i        12345  x"});
}

TEST_CASE("a table that is too wide goes on in further lines, as narrow as it can be read") {
  const std::vector<Column> columns{{"n", true}, {"address"}, {"note"}};
  const TableRows rows{{"1", "/a/very/long/path.sock", "some words to be told"}, {"22", "b", ""}};
  CHECK(format_table(columns, rows, 100).size() == 3);
  CHECK(format_table(columns, rows, 30) == std::vector<std::string>{" n  address       note",
                                                                    " 1  /a/very/long  some words",
                                                                    "    /path.sock    to be told", "22  b"});
  const auto narrow = format_table(columns, rows, 5);
  CHECK(narrow == format_table(columns, rows, 14));
  const auto wide = format_table({{"a"}, {"b", true}}, {{"\u65E5\u672C", "1"}, {"e\u0301", "2"}});
  CHECK(wide == std::vector<std::string>{"a     b", "\u65E5\u672C  1", "e\u0301     2"});
}

TEST_CASE("a table in a small window breaks titles before text, and text before numbers") {
  const std::vector<Column> columns{{"index"}, {"generation", true}, {"entities (about)", true}};
  const TableRows rows{{"index_user_id", "12345678901234567890", "1234"}};
  CHECK(format_table(columns, rows, 45) == std::vector<std::string>{"index                    generation  entities",
                                                                    "                                      (about)",
                                                                    "index_user_id  12345678901234567890      1234"});
  for (const std::size_t width : {40U, 35U, 20U}) {
    CAPTURE(width);
    bool whole = false;
    for (const auto& line : format_table(columns, rows, width)) {
      CHECK(width_of(line) <= width);
      whole = whole || line.find("12345678901234567890") != std::string::npos;
    }
    CHECK(whole == (width > 20));
  }
}

TEST_CASE("a text is cut between characters, by the columns that they take") {
  CHECK(beginning_of_width("abc", 2) == "ab");
  CHECK(beginning_of_width("abc", 0).empty());
  CHECK(beginning_of_width("\u00E9\u00E9", 1) == "\u00E9");
  CHECK(beginning_of_width("a\u65E5b", 2) == "a");
  CHECK(beginning_of_width("a\u65E5b", 3) == "a\u65E5");
  CHECK(beginning_of_width("e\u0301x", 1) == "e\u0301");
}

TEST_CASE("every kind of error has the exit status that scripts rely on") {
  const std::vector<std::pair<ErrorCode, int>> cases{
      {ErrorCode::usage, 2},          {ErrorCode::bad_cluster, 2}, {ErrorCode::wrong_cluster, 2},
      {ErrorCode::bad_definition, 2}, {ErrorCode::bad_index, 2},   {ErrorCode::bad_entity, 1},
      {ErrorCode::refused, 1},        {ErrorCode::moved, 2},       {ErrorCode::frozen, 3},
      {ErrorCode::busy, 3},           {ErrorCode::unavailable, 3}, {ErrorCode::outcome_unknown, 3},
      {ErrorCode::server, 3},         {ErrorCode::corrupt, 3},     {ErrorCode::io, 3},
      {ErrorCode::interrupted, 3},
  };
  for (const auto& [code, status] : cases) {
    CHECK(static_cast<int>(exit_status_of(code, 0)) == status);
  }
  CHECK(exit_status_of(ErrorCode::interrupted, SIGINT) == ExitStatus::interrupted);
  CHECK(exit_status_of(ErrorCode::interrupted, SIGTERM) == ExitStatus::terminated);
  CHECK(stronger(ExitStatus::negative, ExitStatus::failed) == ExitStatus::failed);
}

TEST_CASE("options are understood before and after the command and its arguments") {
  const Run result = run({"--quiet", "show", "a", "--limit=7", "--flag", "b", "--output", "json", "--timeout", "1.5"});
  CHECK(result.ran);
  CHECK(result.status == ExitStatus::negative);
  CHECK(result.items == std::vector<std::string>{"a", "b"});
  CHECK(result.limit == 7);
  CHECK(result.flag);
  CHECK(result.globals.quiet);
  CHECK(result.globals.json());
  CHECK(result.globals.timeout == 1.5);
}

TEST_CASE("a lone dash and the name of a command are ordinary arguments") {
  CHECK(run({"show", "-"}).items == std::vector<std::string>{"-"});
  CHECK(run({"show", "show"}).items == std::vector<std::string>{"show"});
  CHECK(run({"show", "--", "--limit"}).items == std::vector<std::string>{"--limit"});
}

TEST_CASE("an option that may be repeated takes one value each time, and no argument after it") {
  const Run result = run({"show", "--tag", "x", "a", "--tag", "y", "b"});
  CHECK(result.tags == std::vector<std::string>{"x", "y"});
  CHECK(result.items == std::vector<std::string>{"a", "b"});
}

TEST_CASE("the help names every command, and a command's help every option of it") {
  const Registry registry = all_commands();
  const std::string overview = help_text(registry, 80);
  for (const auto& command : registry) {
    CHECK(overview.find("\n  " + command.name + ' ') != std::string::npos);
    const std::string help = help_text(command, 80);
    Globals globals;
    std::vector<Parameter> parameters = common_parameters_for(&command, globals);
    parameters.insert(parameters.end(), command.parameters.begin(), command.parameters.end());
    for (const auto& parameter : parameters) {
      CHECK(help.find(parameter.name) != std::string::npos);
    }
    const std::string in_short = short_help(command, 80);
    for (const auto& parameter : command.parameters) {
      CHECK(in_short.find(parameter.name) != std::string::npos);
    }
    CHECK_FALSE(command.examples.empty());
  }
}

TEST_CASE("help keeps to its width, examples and usage aside, and uses all of it") {
  const Registry registry = all_commands();
  for (const std::size_t width : {60U, 80U, 120U}) {
    std::vector<std::string> texts = {help_text(registry, width), short_help(registry, width)};
    for (const auto& command : registry) {
      texts.push_back(help_text(command, width));
      texts.push_back(short_help(command, width));
    }
    std::size_t longest = 0;
    for (const std::string& text : texts) {
      std::istringstream lines(text);
      bool example = false;
      for (std::string line; std::getline(lines, line);) {
        example = line == "examples:" || (example && !line.empty());
        if (!example && !line.starts_with("usage: ")) {
          CAPTURE(line);
          CHECK(line.size() <= width);
          longest = std::max(longest, line.size());
        }
      }
    }
    CHECK(longest > width - 5);
  }
}

TEST_CASE("progress shows no time left before one per cent, and none without an estimate") {
  const std::chrono::duration<double> ten(10);
  CHECK(format_progress("backfill", {1200, 5000, 1000, ten}) ==
        "backfill: 1,200 of about 5,000 (24 %), 100/s, 0:38 left");
  CHECK(format_progress("backfill", {9, 1000, 9, ten}) == "backfill: 9 of about 1,000 (1 %), 1/s");
  CHECK(format_progress("put", {500, 0, 500, ten}) == "put: 500, 50/s");
  CHECK(format_progress("put", {500, 400, 500, ten}) == "put: 500 of about 500 (100 %), 50/s");
  CHECK(format_progress("verify", {0, 0, 0, std::chrono::duration<double>(0)}) == "verify: 0");
}

TEST_CASE("the time in which a job waits counts neither for its rate nor for the time that is left") {
  using namespace std::chrono_literals;
  WorkingTime time;
  const auto start = WorkingTime::Clock::now();
  time.add(start, false);
  time.add(start + 10s, false);
  for (const auto& paused : {11s, 100s, 1000s}) {
    time.add(start + paused, true);
  }
  time.add(start + 1001s, false);
  CHECK(time.get() == 10s);
  time.add(start + 1006s, false);
  CHECK(time.get() == 15s);
}

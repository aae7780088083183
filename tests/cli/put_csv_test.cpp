// looseleaf put --csv: what becomes of lines and cells, where faults are, and the file of rejects.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

// Puts a line of these cells behind an id, and returns the members of the entity behind the id.
std::string stored(const TestCluster& cluster, const std::string& header, const std::string& cells,
                   const std::vector<std::string>& options = {}) {
  const cli::ProcessResult put =
      cluster.looseleaf(joined({"put", "--csv"}, options), "id," + header + "\n" + id_of(1) + "," + cells + "\n");
  CHECK_MESSAGE(put.status == 0, put.err);
  const std::string line = cluster.looseleaf({"get", id_of(1)}).out;
  const std::string begin = fmt::format(R"({{"id":"{}")", id_of(1));
  REQUIRE(line.starts_with(begin));
  const std::size_t members = begin.size() + (line[begin.size()] == ',' ? 1 : 0);
  return line.substr(members, line.find("}\n", members) - members);
}

}  // namespace

TEST_CASE("cells become members: strings, or what --types says; an empty cell leaves the member out") {
  const TestCluster cluster = initialised();
  struct Case {
    std::string header, cells, types, expected;
  };
  const std::vector<Case> cases = {
      {"a", "1", "", R"("a":"1")"},
      {"a,b", " x ,null", "", R"("a":" x ","b":"null")"},
      {"a", "\"x, \"\"y\"\"\r\nz\"", "", R"("a":"x, \"y\"\r\nz")"},
      {"a,b,c", ",\"\",x", "", R"("b":"","c":"x")"},
      {"a,b.c,b.d.e,f", "1,2,3,4", "", R"("a":"1","b":{"c":"2","d":{"e":"3"}},"f":"4")"},
      {"b.c,a,b.d", "1,2,", "", R"("b":{"c":"1"},"a":"2")"},
      {"a,b.c", "1,", "", R"("a":"1")"},
      {"a,b", "-7,\"8\"", "a=int,b=int", R"("a":-7,"b":8)"},
      {"a,b,c", "1.10,1E5,-0", "a=double,b=double,c=double", R"("a":1.10,"b":1E5,"c":-0)"},
      {"a,b,c", "true,FALSE,True", "a=bool,b=bool,c=bool", R"("a":true,"b":false,"c":true)"},
      {"a,b", "\"[1,\n \"\"x\"\"]\",1.0e400x", "a=json", "\"a\":[1,\"x\"],\"b\":\"1.0e400x\""},
      {"a", "01234567-89AB-CDEF-0123-456789ABCDEF", "a=uuid", R"("a":"01234567-89AB-CDEF-0123-456789ABCDEF")"},
      {"a,b,c", "null,\"\",", "a=int,b=int,c=json", R"("a":null)"},
      {"\"a,b\",\"c\"\"\"", "1,2", R"("a,b"=int)", R"("a,b":1,"c\"":"2")"},
  };
  for (const Case& test : cases) {
    CAPTURE(test.header);
    CAPTURE(test.cells);
    const auto options =
        test.types.empty() ? std::vector<std::string>() : std::vector<std::string>{"--types", test.types};
    CHECK(stored(cluster, test.header, test.cells, options) == test.expected);
  }
}

TEST_CASE("line ends, a byte order mark, empty lines and a missing last line end make no difference") {
  const TestCluster cluster = initialised();
  const std::string one = id_of(1), two = id_of(2);
  for (const std::string& csv : {"id,a\n" + one + ",x\n" + two + ",y\n", "id,a\r\n" + one + ",x\r\n" + two + ",y\r\n",
                                 "\xEF\xBB\xBFid,a\n" + one + ",x\n\n\r\n,\n" + two + ",y",
                                 "\r\n\"id\",\"a\"\n\"" + one + "\",\"x\"\n" + two + ",y"}) {
    CAPTURE(csv);
    check_run(cluster.looseleaf({"put", "--csv"}, csv), 0, one + "\n" + two + "\n");
    CHECK(contains(cluster.looseleaf({"get", two}).out, R"("a":"y"})"));
  }
  for (const char* const csv : {"", "id,a\n"}) {
    check_run(cluster.looseleaf({"put", "--csv"}, csv), 0, "", {"stored 0 entities: the input has none\n"});
  }
}

TEST_CASE(
    "a faulty line is reported with line, column and the column's name; its line can be corrected and put again") {
  const TestCluster cluster = initialised();
  const std::string csv =
      "name,n,d\n"
      "good,1,1\n"
      "a,x1,1\n"
      "\"b\nb\",2,1,5\n"
      "c,\"3\"3,1\n"
      "d,4\",1\n"
      "e,007,1\n"
      "f,5,1e400\n"
      "g\xFF,6,1\n"
      "\"h,7,1\n"
      "also good,8,1\n";
  const std::string file = cluster.directory().write("in.csv", csv), rejects = cluster.directory().path() + "/r.csv";
  const std::vector<std::string> options = {"put", "--csv", "--types", "n=int,d=double", "--rejects", rejects};
  const std::string place = "looseleaf: error: {}\n  file: " + file + "\n  line: {}\n  column: {}\n";
  const auto error = [&](const char* what, int line, int column) {
    return fmt::format(fmt::runtime(place), what, line, column);
  };
  const cli::ProcessResult put = cluster.looseleaf(joined(options, {file}));
  CHECK(lines_of(put.out).size() == 2);
  check_status(
      put, 1,
      {error("a cell does not have its column's type", 3, 3) + "  field: n\n  type: int\nhint: write a whole number",
       error("the line has another number of cells than the header", 4, 1) + "  cells: 4\n  columns: 3\nhint: ",
       error("text behind a closing quote", 6, 6) + "hint: enclose",
       error("a quote inside a cell", 7, 4) + "hint: enclose",
       error("a cell does not have its column's type", 8, 3) + "  field: n\n",
       error("a cell does not have its column's type", 9, 5) + "  field: d\n  type: double\n",
       error("invalid UTF-8", 10, 1) + "  field: name\nhint: write the file in UTF-8",
       error("a quote is not closed", 11, 1) + "hint: enclose", "stored 2 entities, rejected 8\n"});
  CHECK(read_text(rejects) ==
        "id,name,n,d\n"
        ",a,x1,1\n"
        ",\"b\nb\",2,1,5\n"
        ",c,\"3\"3,1\n"
        ",d,4\",1\n"
        ",e,007,1\n"
        ",f,5,1e400\n"
        ",g\xFF,6,1\n"
        ",\"h,7,1\n");
  cluster.directory().write("r.csv",
                            "id,name,n,d\n,a,1,1\n,\"b\nb\",2,1\n,c,3,1\n,d,4,1\n,e,7,1\n,f,5,1\n,g,6,1\n,h,7,1\n");
  CHECK(lines_of(cluster.looseleaf({"put", "--csv", "--types", "n=int,d=double", rejects}).out).size() == 8);
  const cli::ProcessResult json =
      cluster.looseleaf({"put", "--csv", "--types", "n=int", "--output", "json"}, "n\n1\nx\n");
  CHECK(contains(json.out,
                 R"("status":"rejected","error":"a cell does not have its column's type","line":3,"column":1,)"
                 R"("field":"n","type":"int"})"));
  const std::string crlf = "id,a\r\n,\"open\r\n,y\r\n,\"z\"\r\nno id,v\r\n";
  check_status(cluster.looseleaf({"put", "--csv", "--rejects", rejects}, crlf), 1,
               {"error: text behind a closing quote\n  line: 2\n  column: 2\n  closed_line: 4\nhint: ", "  line: 5\n"});
  CHECK(read_text(rejects) == crlf);  // byte for byte
}

// Reading goes on at the next line only as long as the lines are kept, which is 40 MiB.
TEST_CASE("put says which lines are rejected because of a quote that is never closed") {
  const TestCluster cluster = initialised();
  std::string csv = "a,b\n1,2\n3,\"4\n";
  const std::string line = std::string(1'000'000, 'x') + ",y\n";
  constexpr int lines = 50;
  for (int i = 0; i < lines; ++i) {
    csv += line;
  }
  const std::string rejects = cluster.directory().path() + "/r.csv";
  const cli::ProcessResult put = cluster.looseleaf({"put", "--csv", "--rejects", rejects, "--output", "json"}, csv);
  check_status(
      put, 1,
      {R"("what":"a cell in quotes is too long","context":{"line":3,"column":3,"last_line":53},"hint":"close the )"
       R"(quote; nothing of this input from line 3 on is stored without that"})",
       "stored 1 entity, rejected 1"});
  CHECK(contains(put.out, R"("error":"a cell in quotes is too long","line":3,"column":3,"last_line":53})"));
  const bool all_is_kept = read_text(rejects) == "id,a,b\n," + csv.substr(csv.find('3')) + "\n";
  CHECK(all_is_kept);
}

TEST_CASE("what the store refuses of CSV is reported with its line, and is in the rejects as it was") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "u", "type": "string"}], "immutable": true})");
  const std::string rejects = cluster.directory().path() + "/r.csv";
  REQUIRE(cluster.looseleaf({"put", "--csv"}, "id,u\n" + id_of(1) + ",x\n").status == 0);
  const std::string wrong = "\"" + id_of(1) + "\",\"y\"", bad_json = id_of(2) + ",z,\"{\"\"a\"\":1,\"\"a\"\":2}\"";
  check_run(cluster.looseleaf({"put", "--csv", "--types", "j=json", "--rejects", rejects},
                              "id,u,j\n" + wrong + ",\n" + bad_json + "\nno id,x,\n"),
            1, "",
            {"error: an immutable property would change\n  line: 2\n  column: 1\n", "id: " + id_of(1) + "\n",
             "error: duplicate key\n  line: 3\n  column: 36\n  field: j\nhint: keep one",
             "a cell does not have its column's type\n  line: 4\n", "  field: id\n  type: uuid\n"});
  CHECK(contains(read_text(rejects), "id,u,j\n"));
  for (const std::string& line : {wrong + ",\n", bad_json + "\n", std::string("no id,x,\n")}) {
    CHECK(contains(read_text(rejects), line));
  }
}

TEST_CASE("a cell of type json that put would reject is reported with its column") {
  const TestCluster cluster = initialised();
  const std::string deep = std::string(129, '[') + std::string(129, ']');
  check_run(
      cluster.looseleaf({"put", "--csv", "--types", "j=json"},
                        "a,j\nx," + deep + "\nx,[1 2]\n" + std::string("x,1\0 2\n", 7) + "x,\"\"\"\\ud800\"\"\"\n"),
      1, "",
      {"error: nested too deeply\n  line: 2\n  column: 3\n  field: j\nhint: nest at most 128",
       "error: a cell does not have its column's type\n  line: 3\n  column: 3\n  field: j\n  type: json\nhint: ",
       "error: a cell does not have its column's type\n  line: 4\n  column: 3\n  field: j\n",
       "error: lone surrogate\n  line: 5\n  column: 3\n  field: j\n", "rejected 4"});
}

TEST_CASE("a line whose outcome is unknown is in the rejects with the id that its entity was given" *
          needs_failpoints) {
  for (const std::string header : {"a,n", "a,id,n"}) {
    CAPTURE(header);
    const TestCluster cluster = initialised_alone(1);
    const std::string rejects = cluster.directory().path() + "/r.csv";
    const std::string line = header == "a,n" ? "x,1" : "x,\"\",1";
    cli::Process put = cluster.stop_at("put.commit:before", {"put", "--csv", "--timeout", "2", "--rejects", rejects},
                                       header + "\n" + line + "\n");
    cluster.sandbox().kill_server(0);
    CHECK(resume(put).status == 3);
    const std::vector<std::string> lines = lines_of(read_text(rejects));
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == (header == "a,n" ? "id,a,n" : "a,id,n"));
    CHECK(lines[1].size() == std::string("x,,1").size() + 32);
  }
}

TEST_CASE("with --merge a line of CSV changes the members that it has") {
  const TestCluster cluster = initialised();
  const std::string rejects = cluster.directory().write("rejects", "");
  REQUIRE(cluster.looseleaf({"put"}, entity(1, R"("a":"x","n":1.10)") + entity(3, R"("n":1)")).status == 0);
  const std::string lines = id_of(1) + ",2\n" + id_of(2) + ",2\n" + id_of(3) + ",x\n,2\n";
  check_status(
      cluster.looseleaf({"put", "--csv", "--merge", "--types", "n=int", "--rejects", rejects}, "id,n\n" + lines), 1,
      {"warning: no such entity\n  line: 3\n", "error: there is no id to merge with\n  line: 5\n"});
  check_run(cluster.looseleaf({"get", id_of(1), id_of(3)}), 0,
            entity(1, R"("a":"x","n":2)") + "\n" + entity(3, R"("n":1)") + "\n");
  CHECK(read_text(rejects) == "id,n\n" + lines.substr(lines.find('\n') + 1));
}

TEST_CASE("headers and types that do not fit are refused, and nothing of the input is stored") {
  const TestCluster cluster = initialised();
  struct Case {
    std::string csv;
    std::vector<std::string> options;
    int status;
    std::vector<std::string> err;
  };
  std::string csv_of_many_dots = "id,a";
  for (int dots = 0; dots < 200'000; ++dots) {
    csv_of_many_dots += ".a";
  }
  const std::vector<Case> cases = {
      {"a,a\n1,2\n", {}, 1, {"error: columns exclude each other\n", "  line: 1\n  column: 3\n  field: a\n", "hint: "}},
      {"a.b,a\n1,2\n", {}, 1, {"error: columns exclude each other\n", "hint: name each column once, and not both"}},
      {"a,a.b\n1,2\n", {}, 1, {"error: columns exclude each other\n", "  field: a.b\n"}},
      {"a,,b\n1,2,3\n",
       {},
       1,
       {"error: a column without a name\n", "  column: 3\n", "nothing of this input was stored"}},
      {"a;b\n1;2\n", {}, 1, {"error: the header has no commas\n", "hint: separate cells by commas"}},
      {"a,b\"\n1,2\n", {}, 1, {"error: a quote inside a cell\n", "  line: 1\n  column: 4\n"}},
      {csv_of_many_dots + "\n,1\n", {}, 1, {"error: a column's name has too many parts\n", "  column: 4\n"}},
      {"a,b\r1,2\r", {}, 1, {"error: a carriage return in the header\n", "hint: end the lines with a line feed"}},
      {"id ,b\n1,2\n",
       {},
       1,
       {"error: a column's name begins or ends with a space\n", "  field: id \n", "hint: put no"}},
      {"a, b\n1,2\n", {}, 1, {"error: a column's name begins or ends with a space\n", "  field:  b\n"}},
      {id_of(1) + ",1999\n" + id_of(2) + ",2000\n",
       {},
       1,
       {"error: the header has an id where it should name a column\n", "  column: 1\n", "hint: put a line with"}},
      {"a\n1\n",
       {"--types", "b=int"},
       2,
       {"error: the header has no such column\n", "  field: b\n", "hint: name a column"}},
      {"a\n1\n",
       {"--types", "a=number"},
       2,
       {"error: invalid types of columns\n", "types are string, uuid, int, double"}},
      {"a\n1\n", {"--types", "a"}, 2, {"error: invalid types of columns\n", "hint: write column=type"}},
      {"a\n1\n", {"--types", ""}, 2, {"error: invalid types of columns\n", "hint: write column=type"}},
      {"a\n1\n", {"--types", "=int"}, 2, {"error: invalid types of columns\n", "hint: write column=type"}},
      {"a\n1\n", {"--types", "a=int,a=json"}, 2, {"error: invalid types of columns\n", "hint: name each column once"}},
  };
  for (const Case& test : cases) {
    CAPTURE(test.csv);
    check_run(cluster.looseleaf(joined({"put", "--csv"}, test.options), test.csv), test.status, "", test.err);
  }
  check_run(cluster.looseleaf({"put", "--types", "a=int"}, "{}"), 2, "",
            {"error: --types is for --csv only\n", "hint: "});
  CHECK(cluster.looseleaf({"export"}).out.empty());
}

TEST_CASE(
    "a line that repeats the header is rejected, unless it is a single word, and a number for a name is warned of") {
  const TestCluster cluster = initialised();
  check_run(cluster.looseleaf({"put", "--csv", "--quiet"}, "a,b\n1,2\na,b\n3,4\na,4\n"), 1, "",
            {"error: the line repeats the header\n  line: 3\n  column: 1\nhint: delete the line\n"});
  CHECK(lines_of(cluster.looseleaf({"export"}).out).size() == 3);
  check_run(cluster.looseleaf({"put", "--csv", "--quiet"},
                              "\xEF\xBB\xBF"
                              "a,b\n5,6\n\xEF\xBB\xBF"
                              "a,b\n7,8\n"),
            1, "", {"error: the line repeats the header\n  line: 3\n"});
  check_run(cluster.looseleaf({"put", "--csv", "--quiet"}, "a\na\n"), 0, "");
  const std::string file = cluster.directory().write("books.csv", "Emma,1815\nDune,1965\n");
  check_run(cluster.looseleaf({"put", "--csv", "--quiet", file}), 0, "",
            {"warning: a number is the name of a column\n  file: " + file + "\n  field: 1815\n",
             "hint: if the first line does not name the columns, put"});
}

TEST_CASE("several files of CSV may differ in their columns, unless their rejects go to one file") {
  const TestCluster cluster = initialised();
  const std::string one = cluster.directory().write("one.csv", "a\n1\n"),
                    two = cluster.directory().write("two.csv", "b\n2\n"), rejects = cluster.directory().path() + "/r";
  CHECK(lines_of(cluster.looseleaf({"put", "--csv", one, two}).out).size() == 2);
  const cli::ProcessResult put = cluster.looseleaf({"put", "--csv", "--rejects", rejects, one, two});
  check_status(put, 1, {"error: the header differs from that of another input\n  file: " + two + "\nhint: put files"});
  CHECK(lines_of(put.out).size() == 1);
  CHECK(read_text(rejects).empty());  // nothing was rejected
}

TEST_CASE("what export prints as CSV, put --csv stores again unchanged") {
  const TestCluster cluster = initialised();
  const std::string text = entity(
      1, R"("s":"a,\"b\"\nc","e":"","z":"null","n":1.10,"big":12345678901234567890,"o":{"p":[1,{"q":null}]},"k":null)");
  put_all(cluster, text);
  const cli::ProcessResult csv =
      cluster.looseleaf({"export", "--fields", "id,s,e,z,n,big,o.p,k,absent", "--output", "csv"});
  REQUIRE(cluster.looseleaf({"delete", id_of(1)}).status == 0);
  CHECK(cluster.looseleaf({"put", "--csv", "--types", "n=double,big=json,o.p=json,k=json"}, csv.out).status == 0);
  CHECK(cluster.looseleaf({"get", id_of(1)}).out == text + "\n");
}

}  // namespace looseleaf::test

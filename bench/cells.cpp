// What a condition costs a put, and what cells cost: entities whose ids are made of their key (row, column, ref), in an
// immutable index; against the same entities with ids of their own, in an index that lets them change.
// usage: bench_cells [--entities N] [--runs N] [--pool SIZE] [--redo SIZE]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <looseleaf/datastore.hpp>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/measure.hpp"

namespace looseleaf::bench {
namespace {

constexpr std::uint64_t most_reads = 1000;  // a run; fewer of a small store
// A row has the refs 1, 2 and so on of each column.
constexpr std::array<std::pair<std::string_view, int>, 3> columns = {{{"BASE", 1}, {"STATUS", 4}, {"NOTES", 5}}};
constexpr std::uint64_t cells_a_row = 10;

std::string definition(bool immutable) {
  return fmt::format(
      R"({{"table": "cells", "properties": [{{"name": "row", "type": "uuid"}},
          {{"name": "column", "type": "string", "max_length": 20}}, {{"name": "ref", "type": "int"}}],
          "shard_on": "row", "immutable": {}}})",
      immutable);
}

std::string random_id(std::mt19937_64& random) {
  const std::uint64_t high = random();
  return fmt::format("{:016x}{:016x}", high, random());
}

class Cells {
 public:
  explicit Cells(const Settings& settings)
      : servers_(settings),
        entities_(settings.entities),
        file_(servers_.write_entities("entities.jsonl", entities_)),
        one_index_(servers_.write_definitions(1)),
        immutable_{servers_.cluster().directory().write("immutable.json", definition(true))},
        mutable_{servers_.cluster().directory().write("mutable.json", definition(false))},
        cells_(servers_, 2, &immutable_),
        ordinary_(servers_, 2, &mutable_) {
    write_rows();
    note("filling the stores");
    servers_.run({cells_.looseleaf(put_cells, servers_.path("cells.jsonl"))});
    servers_.run({ordinary_.looseleaf({"put"}, servers_.path("ordinary.jsonl"))});
  }

  void run(int runs) const {
    const Datastore cells = Datastore::open(Cluster::load(cells_.file()));
    const Datastore ordinary = Datastore::open(Cluster::load(ordinary_.file()));
    for (int run = 1; run <= runs; ++run) {
      puts(run);
      query("latest version of a column", run, cells, ordinary, [](const std::string& row) {
        Query query = of_row(row);
        query.conditions.push_back({"column", Operator::equal, "NOTES"});
        query.descending = true;
        query.limit = 1;
        return query;
      });
      query("row of 10", run, cells, ordinary, of_row);
    }
  }

 private:
  inline static const std::vector<std::string> put_cells = {"put", "--if-absent", "--key", "row,column,ref"};

  static Query of_row(const std::string& row) {
    Query query;
    query.index = "cells";
    query.conditions = {{"row", Operator::equal, row}};
    return query;
  }

  // The same entities without ids and with random ones.
  void write_rows() {
    std::ofstream cells(servers_.path("cells.jsonl")), ordinary(servers_.path("ordinary.jsonl"));
    std::mt19937_64 random(1);
    const std::uint64_t rows = std::max<std::uint64_t>(1, entities_ / cells_a_row);
    const std::uint64_t step = std::max<std::uint64_t>(1, rows / most_reads);
    for (std::uint64_t number = 0; number < rows; ++number) {
      const std::string row = random_id(random);
      if (number % step == 0) {
        rows_.push_back(row);
      }
      for (const auto& [column, refs] : columns) {
        for (int ref = 1; ref <= refs; ++ref) {
          const std::string members =
              fmt::format(R"("row":"{}","column":"{}","ref":{},"text":"{:0200x}"}})", row, column, ref, random());
          cells << "{" << members << '\n';
          ordinary << fmt::format(R"({{"id":"{}",{})", random_id(random), members) << '\n';
        }
      }
    }
    std::shuffle(rows_.begin(), rows_.end(), random);
    require(static_cast<bool>(cells.flush()) && static_cast<bool>(ordinary.flush()), "cannot write the cells");
  }

  // The order changes from run to run.
  void puts(int run) const {
    std::vector<std::pair<std::string, std::vector<std::string>>> contenders = {
        {"put", {"put"}}, {"put --if-absent", {"put", "--if-absent"}}};
    if (run % 2 == 0) {
      std::reverse(contenders.begin(), contenders.end());
    }
    for (const auto& [by, command] : contenders) {
      note(fmt::format("{} of new ids: run {}", by, run));
      const Databases databases(servers_, 2, &one_index_);
      record({"put of new ids", "1 index", by, run}, entities_, servers_.run({databases.looseleaf(command, file_)}));
    }
  }

  template <typename MakeQuery>
  void query(const std::string& what, int run, const Datastore& cells, const Datastore& ordinary,
             const MakeQuery& make_query) const {
    const auto ask = [&](const Datastore& store) {
      return [&](std::size_t i) {
        const Query query = make_query(rows_[i]);
        require(store.query(query, [](const Entity&) { return true; }).entities ==
                    (query.limit == 0 ? cells_a_row : query.limit),
                "a query did not find the cells");
      };
    };
    take_turns(servers_, {"query of cells", what, {}, run}, rows_.size(),
               {{"cells", ask(cells)}, {"ordinary entities", ask(ordinary)}});
  }

  const Servers servers_;
  const std::uint64_t entities_;
  const std::string file_;
  const std::vector<std::string> one_index_, immutable_, mutable_;
  const Databases cells_, ordinary_;
  std::vector<std::string> rows_;  // to ask for
};

void run(const Settings& settings) {
  Cells(settings).run(settings.runs);
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_cells", argc, argv, looseleaf::bench::run);
}

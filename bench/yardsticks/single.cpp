// One operation by hand as a whole process: it connects to every shard and does it.
//   get CLUSTER ID DEFINITION
//   query CLUSTER USER DEFINITION            a user's entities by the index of the definition
//   put | update CLUSTER FILE DEFINITION     the one entity in the file
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/yardsticks/entity_rows.hpp"
#include "bench/yardsticks/hand_written.hpp"

namespace looseleaf::bench {
namespace {

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void run(const std::vector<std::string>& arguments) {
  const std::string& operation = arguments.at(0);
  const std::string& what = arguments.at(2);
  const std::vector<IndexDefinition> indexes = load_definitions({arguments.at(3)});
  HandWritten hand(arguments.at(1), indexes);
  const auto print = [](std::string_view text) { std::cout << text << '\n'; };
  if (operation == "get") {
    hand.get(what, print);
  } else if (operation == "query") {
    hand.query(indexes.front(), what, "WHERE user_id = " + id_literal(what), print);
  } else if (operation == "put") {
    hand.put(line_of(what));
  } else if (operation == "update") {
    hand.update(line_of(what));
  } else {
    throw std::runtime_error("no such operation: " + operation);
  }
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  try {
    looseleaf::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "yardstick_single: " << error.what() << '\n';
    return 1;
  }
}

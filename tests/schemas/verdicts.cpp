// What the program says of cluster files and index definitions, for schemas_test.py. Reads lines "KIND HEX" and prints
// a JSON object for each.
#include <iostream>
#include <looseleaf/cluster.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/index_definition.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/hex.hpp"

namespace {

using looseleaf::base::hex_digit;

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(hex_digit(digits[i]) * 16 + hex_digit(digits[i + 1]));
  }
  return bytes;
}

nlohmann::json verdict_on(std::string_view kind, const std::string& text) {
  try {
    if (kind == "cluster") {
      static_cast<void>(looseleaf::Cluster::parse(text, "/etc/looseleaf/cluster.json"));
    } else {
      static_cast<void>(looseleaf::IndexDefinition::parse(text, "index.json"));
    }
  } catch (const looseleaf::Error& error) {
    return {{"accepted", false}, {"what", error.what()}, {"hint", error.hint()}};
  }
  return {{"accepted", true}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t space = line.find(' ');
    std::cout << verdict_on(std::string_view(line).substr(0, space), from_hex(std::string_view(line).substr(space + 1)))
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
              << '\n';
  }
}

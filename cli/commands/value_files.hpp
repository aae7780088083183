// Conditions of query whose values come from files: name=@FILE.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <string>
#include <vector>

namespace looseleaf::cli {

class ValueFiles {
 public:
  // Reads conditions as they are written on the command line. One with "=@FILE" becomes a condition for each line of
  // the file ("-": standard input) that is not empty. "@" is part of the value if the name is in double quotes. Reads
  // no more values than a query takes, and one more. Throws Error.
  [[nodiscard]] std::vector<Condition> conditions_of(const std::vector<std::string>& texts);

  // If the error is about a value that comes from a file, adds the file and the line.
  void locate(Error& error) const;

 private:
  struct Source {
    std::string file;
    std::string property;
    std::vector<std::pair<std::uint64_t, std::string>> lines;  // number and text
  };

  std::vector<Source> sources_;
};

}  // namespace looseleaf::cli

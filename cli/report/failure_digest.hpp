// Prints similar failures only a few times, and counts the others: a dead shard can fail a million entities, and a file
// that is not JSON has an error in every line.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace looseleaf::cli {

// Prints a number of failures of each kind in full and counts the others.
class FailureDigest {
 public:
  // `things` names what fails, such as "entities". Without a number all failures are printed.
  FailureDigest(std::string things, std::optional<std::uint64_t> printed_of_a_kind)
      : things_(std::move(things)), printed_of_a_kind_(printed_of_a_kind) {}

  void add(const Error& error);
  // Prints how many more failures of each kind there were, with a hint that may be empty.
  void finish(const std::string& hint) const;

 private:
  // Failures are of the same kind if they differ only in the entity.
  using Kind = std::pair<std::string, Error::Context>;

  const std::string things_;
  const std::optional<std::uint64_t> printed_of_a_kind_;
  std::map<Kind, std::uint64_t> counts_;
  std::uint64_t others_ = 0;
};

}  // namespace looseleaf::cli

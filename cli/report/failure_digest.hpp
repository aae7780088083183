// Failures that are alike, told a few times at most: a dead shard can fail a million entities, and a file that holds
// none has as many mistakes as lines.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace looseleaf::cli {

// Prints so many failures of a kind in full and counts the ones like them.
class FailureDigest {
 public:
  // `things` are what fails: "entities". Without a number all are printed.
  FailureDigest(std::string things, std::optional<std::uint64_t> printed_of_a_kind)
      : things_(std::move(things)), printed_of_a_kind_(printed_of_a_kind) {}

  void add(const Error& error);
  // Prints how many more there were of each, with a hint that may be empty.
  void finish(const std::string& hint) const;

 private:
  // What makes failures alike: everything but the entity.
  using Kind = std::pair<std::string, Error::Context>;

  const std::string things_;
  const std::optional<std::uint64_t> printed_of_a_kind_;
  std::map<Kind, std::uint64_t> counts_;
  std::uint64_t others_ = 0;
};

}  // namespace looseleaf::cli

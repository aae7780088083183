// Failures that are alike, told once: a dead shard can fail a million entities.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <map>
#include <string>
#include <utility>

namespace looseleaf::cli {

// Prints a failure in full the first time and counts the ones like it.
class FailureDigest {
 public:
  // `things` are what fails: "entities".
  explicit FailureDigest(std::string things) : things_(std::move(things)) {}

  void add(const Error& error);
  // Prints how many more there were of each.
  void finish() const;

 private:
  // What makes failures alike: everything but the entity.
  using Kind = std::pair<std::string, Error::Context>;

  const std::string things_;
  std::map<Kind, std::uint64_t> repeated_;
  std::uint64_t others_ = 0;
};

}  // namespace looseleaf::cli

// The output of verify --against: all differences or samples, and a summary, as text, JSON and JUnit's XML.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <looseleaf/compare.hpp>
#include <looseleaf/error.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Receives differences one by one. One call at a time.
class CompareOutput {
 public:
  // `other` is the cluster file of the other store. With `all`, text shows every difference.
  CompareOutput(const Globals& globals, std::string other, bool all)
      : globals_(globals), other_(std::move(other)), all_(all) {}

  void add(const Difference& difference);
  // Call it once, when the comparison has ended.
  void finish(const CompareReport& report) const;

  static constexpr std::string_view suite = "looseleaf verify --against";  // its name in JUnit's XML
  // A test suite with a case for each of the `shards` of this store. `error`, unless null, is the reason why the
  // comparison was not completed; then only shards with differences have a case.
  [[nodiscard]] std::string junit(std::uint32_t shards, const Error* error) const;

 private:
  using Kinds = std::map<DifferenceKind, std::uint64_t>;

  void warn_of_indexes(const CompareReport& report) const;
  void print_left_out() const;
  void print_notes(const CompareReport& report) const;
  // Returns the kinds among these that were found, separated by commas.
  [[nodiscard]] std::string found_of(std::initializer_list<DifferenceKind> kinds) const;
  [[nodiscard]] std::vector<std::string> advice(bool for_copy) const;

  const Globals& globals_;
  const std::string other_;
  const bool all_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::map<std::uint32_t, Kinds> counts_;                      // by shard
  std::map<std::uint32_t, std::vector<std::string>> samples_;  // lines, likewise
};

}  // namespace looseleaf::cli

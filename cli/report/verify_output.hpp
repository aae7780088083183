// What verify says: findings, samples of them or all, and a summary; in text, JSON and JUnit's XML.
#pragma once

#include <chrono>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/jobs.hpp>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// In text this many of a kind in an index on a shard are shown, unless all are asked for; in JUnit's XML at most.
inline constexpr std::uint64_t samples_of_a_kind = 20;

// Receives findings one by one. One call at a time.
class VerifyOutput {
 public:
  // `files`: of tables that were declared in a folder of definitions, the file's name.
  VerifyOutput(const Globals& globals, bool all, bool repair, std::map<std::string, std::string> files)
      : globals_(globals), all_(all), repair_(repair), files_(std::move(files)) {}

  void add(const Finding& finding);
  // Call it once, when the verification has ended.
  void finish(const VerifyReport& report);

  // A test suite with a case for each index and shard, and for each shard's entities. `error`, unless null, is why the
  // verification did not come to its end: then there is a case that says so.
  [[nodiscard]] std::string junit(const VerifyReport& report, std::uint32_t shards, const Error* error) const;

 private:
  using Place = std::pair<std::string, std::uint32_t>;  // index and shard

  [[nodiscard]] std::string text_of(const Finding& finding) const;
  void print_counts(const VerifyReport& report) const;
  void print_notes(const VerifyReport& report) const;

  const Globals& globals_;
  const bool all_, repair_;
  const std::map<std::string, std::string> files_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::map<std::pair<Place, FindingKind>, std::uint64_t> counts_;
  std::map<Place, std::vector<std::string>> samples_;
};

}  // namespace looseleaf::cli

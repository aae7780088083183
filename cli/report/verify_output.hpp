// The output of verify: all findings or samples, and a summary, as text, JSON and JUnit's XML.
#pragma once

#include <chrono>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/jobs.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/registry/registry.hpp"
#include "cli/terminal/json.hpp"

namespace looseleaf::cli {

// The most findings of a kind in an index on a shard that JUnit's XML has, and that text shows without --all.
inline constexpr std::uint64_t samples_of_a_kind = 20;

struct VerifyOutputOptions {
  bool all = false;
  bool repair = false;
  bool definitions_only = false;
  std::map<std::string, std::string> files = {};  // the file that declares a table, for a folder of definitions
};

// Receives findings one by one. One call at a time.
class VerifyOutput {
 public:
  VerifyOutput(const Globals& globals, VerifyOutputOptions options) : globals_(globals), options_(std::move(options)) {}

  void add(const Finding& finding);
  void add_repaired(const Finding& finding);
  // Call it once, when the verification has ended.
  void finish(const VerifyReport& report, std::uint32_t shards);

  static constexpr std::string_view suite = "looseleaf verify";  // its name in JUnit's XML
  // A test suite with a case for each index and shard and, unless only definitions were checked, for each shard's
  // entities. `error`, unless null, is the reason why the verification was not completed, and becomes a test case.
  [[nodiscard]] std::string junit(const VerifyReport& report, std::uint32_t shards, const Error* error) const;

 private:
  using Place = std::pair<std::string, std::uint32_t>;  // index and shard

  using Counts = std::map<std::pair<Place, FindingKind>, std::uint64_t>;

  [[nodiscard]] std::string text_of(const Finding& finding) const;
  [[nodiscard]] std::set<Place> checked_places(const VerifyReport& report, std::uint32_t shards) const;
  [[nodiscard]] Json to_json(const Finding& finding) const;
  // Says how many findings of a kind were not printed.
  void print_left_out(const Counts& counts, std::string_view what) const;
  void print_notes(const VerifyReport& report) const;
  // Returns the result in one line.
  [[nodiscard]] std::string conclusion(const VerifyReport& report) const;

  const Globals& globals_;
  const VerifyOutputOptions options_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  Counts counts_, repaired_;
  std::map<Place, std::vector<std::string>> samples_;
};

}  // namespace looseleaf::cli

// Prints similar failures only a few times, and counts the others: a dead shard can fail a million entities, and a file
// that is not JSON has an error in every line.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// How many failures of a kind a command prints: 20, or with --verbose all of them.
[[nodiscard]] std::optional<std::uint64_t> printed_of_a_kind(const Globals& globals);

constexpr const char* hint_for_others = "give --verbose to see each of them";

// Prints a number of failures of each kind in full and counts the others.
class FailureDigest {
 public:
  enum class Severity { error, warning };

  // `things` names what fails, such as "entities". Without a number all failures are printed. `hint` is for those that
  // are only counted, and may be empty.
  FailureDigest(std::string things, std::optional<std::uint64_t> printed_of_a_kind, Severity severity = Severity::error,
                std::string hint = hint_for_others)
      : things_(std::move(things)),
        printed_of_a_kind_(printed_of_a_kind),
        severity_(severity),
        hint_(std::move(hint)) {}
  FailureDigest(const FailureDigest&) = delete;
  FailureDigest& operator=(const FailureDigest&) = delete;
  // A command that fails does not call finish(), so this does.
  ~FailureDigest() { finish(); }

  void add(const Error& error);
  // Prints how many more failures of each kind there were, once.
  void finish();
  // From now on prints all.
  void print_all();

 private:
  void print(const Error& error) const;

  // Failures are of the same kind if they differ only in the entity and where it is.
  using Kind = std::pair<std::string, Error::Context>;

  const std::string things_;
  std::optional<std::uint64_t> printed_of_a_kind_;
  const Severity severity_;
  const std::string hint_;
  std::map<Kind, std::uint64_t> counts_;
  std::uint64_t others_ = 0;
};

}  // namespace looseleaf::cli

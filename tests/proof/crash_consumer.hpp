// What a consumer of the feed has: of each entity the version with the greatest stamp that it was given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/observed_store.hpp"

namespace looseleaf::test {

class CrashConsumer {
 public:
  // `bodies` is what the consumer has in the beginning.
  explicit CrashConsumer(const std::map<std::string, std::string>& bodies);

  // Takes a change, as `changes` prints it.
  void take(std::string_view line);

  // The entities of which it does not have the stored version.
  [[nodiscard]] std::vector<std::string> differences(const ObservedStore& store) const;
  // The number of versions that it was given.
  [[nodiscard]] std::uint64_t versions() const { return versions_; }

 private:
  struct Version {
    std::string stamp;
    std::optional<std::string> text;  // absent: deleted
  };

  std::map<std::string, Version> entities_;
  std::uint64_t versions_ = 0;
};

}  // namespace looseleaf::test

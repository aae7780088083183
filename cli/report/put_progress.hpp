// The progress of a put, as a part of the files that it reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/progress.hpp"

namespace looseleaf::cli {

// Extrapolates the number of entities from the bytes read so far. Thread-safe.
class PutProgress {
 public:
  PutProgress(const Globals& globals, const std::vector<std::string>& files);

  void add_bytes(std::size_t size) { consumed_ += size; }
  void add_entity() { ++given_; }

  void update(std::uint64_t done);

 private:
  ProgressDisplay display_;
  const std::optional<std::uint64_t> total_;  // bytes of all files
  std::atomic<std::uint64_t> consumed_{0}, given_{0};
};

}  // namespace looseleaf::cli

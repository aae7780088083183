// What a cleaner has done, as Prometheus reads it from a file.
#pragma once

#include <cstdint>
#include <ctime>
#include <looseleaf/jobs.hpp>
#include <optional>
#include <string>

namespace looseleaf::cli {

// Counts passes, and renders them in the text format of Prometheus (exposition format 0.0.4). Its counters begin with
// the process.
class CleanMetrics {
 public:
  void count(const CleanPass& pass, std::time_t now);
  [[nodiscard]] std::string text() const;

 private:
  CleanReport report_;
  std::vector<std::chrono::seconds> lags_;
  std::uint64_t passes_ = 0, failures_ = 0;
  std::optional<std::time_t> last_success_;
};

}  // namespace looseleaf::cli

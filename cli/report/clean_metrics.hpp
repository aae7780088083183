// The metrics of a cleaner, in a file that Prometheus reads.
#pragma once

#include <cstdint>
#include <ctime>
#include <looseleaf/jobs.hpp>
#include <optional>
#include <string>

namespace looseleaf::cli {

// Counts passes, and renders them in the text format of Prometheus (exposition format 0.0.4). The counters start at 0
// with the process.
class CleanMetrics {
 public:
  void count(const CleanPass& pass, std::time_t now);
  // Another process cleans: from now on only that one knows how things stand.
  void wait();
  // Takes over when the last pass succeeded from what an earlier process has written.
  void go_on_from(const std::string& text);
  [[nodiscard]] std::string text() const;

 private:
  CleanReport report_;
  std::vector<std::chrono::seconds> lags_;
  std::vector<CleanPass::Buffer> buffers_;  // by shard
  std::uint64_t passes_ = 0, failures_ = 0;
  bool is_active_ = false;
  std::optional<std::time_t> last_success_;
};

}  // namespace looseleaf::cli

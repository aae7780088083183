// Prints every series from the first scrape on, so that alerts have a value to compare with.
#include "cli/report/clean_metrics.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include "cli/report/prometheus.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::array repairable_kinds = {FindingKind::missing, FindingKind::stale, FindingKind::orphan,
                                         FindingKind::misplaced, FindingKind::duplicate};

}  // namespace

void CleanMetrics::wait() {
  is_active_ = false;
  lags_.clear();
  buffers_.clear();
}

void CleanMetrics::count(const CleanPass& pass, std::time_t now) {
  is_active_ = true;
  report_ = pass.report;
  lags_ = pass.lags;
  buffers_ = pass.buffers;
  if (pass.failure) {
    failures_ += pass.failure->code() == ErrorCode::interrupted ? 0 : 1;
  } else if (!pass.sweep) {
    ++passes_;
    last_success_ = now;
  }
}

void CleanMetrics::go_on_from(const std::string& text) {
  constexpr std::string_view name = "\nlooseleaf_clean_last_success_timestamp_seconds ";
  if (const std::size_t at = text.find(name); at != std::string::npos) {
    const char* const number = text.data() + at + name.size();
    std::time_t time = 0;
    if (std::from_chars(number, text.data() + text.size(), time).ec == std::errc()) {
      last_success_ = time;
    }
  }
}

std::string CleanMetrics::text() const {
  MetricsText text("clean");
  text.family("active", "gauge", "1: this process cleans. 0: it waits until no other one does.");
  text.sample("active", "", is_active_ ? 1 : 0);
  text.family("entities_checked_total", "counter", "Entities whose index rows were checked.");
  text.sample("entities_checked_total", "", report_.checked);
  text.family("rows_repaired_total", "counter", "Index rows inserted (missing) or deleted (the other kinds).");
  for (const FindingKind kind : repairable_kinds) {
    const auto found = report_.mended.find(kind);
    text.sample("rows_repaired_total", fmt::format("{{kind=\"{}\"}}", to_string(kind)),
                found == report_.mended.end() ? 0 : found->second);
  }
  text.family("tombstones_purged_total", "counter", "Tombstones that were purged.");
  text.sample("tombstones_purged_total", "", report_.purged);
  text.family("buffered_writes_flushed_total", "counter", "Buffered writes that were stored.");
  text.sample("buffered_writes_flushed_total", "", report_.flushed);
  const auto by_shard = [&](const std::string& name, const std::string& help, const auto& value_of) {
    text.family(name, "gauge", help);
    for (std::size_t shard = 0; shard < buffers_.size(); ++shard) {
      text.sample(name, fmt::format("{{shard=\"{}\"}}", shard), value_of(buffers_[shard]));
    }
  };
  by_shard("buffered_writes", "Buffered writes with a copy on the shard; each has up to two.",
           [](const CleanPass::Buffer& buffer) { return buffer.copies; });
  by_shard("buffered_writes_age_seconds", "Age of the shard's oldest copy of a buffered write; 0: none.",
           [](const CleanPass::Buffer& buffer) { return buffer.oldest.count(); });
  by_shard("refused_writes", "Buffered writes of the shard's entities that could not be stored.",
           [](const CleanPass::Buffer& buffer) { return buffer.refused; });
  text.family("passes_total", "counter", "Passes over the cleanup records, by result; also failed sweeps.");
  text.sample("passes_total", "{result=\"success\"}", passes_);
  text.sample("passes_total", "{result=\"failure\"}", failures_);
  text.family("errors_total", "counter",
              "Failed passes, sweeps and purges, by the server's error number; 0: another reason.");
  for (const auto& [number, count] : report_.failures) {
    text.sample("errors_total", fmt::format("{{number=\"{}\"}}", number), count);
  }
  text.family("watermark_lag_seconds", "gauge", "Age of the oldest cleanup record of the shard; 0: none.");
  for (std::size_t shard = 0; shard < lags_.size(); ++shard) {
    text.sample("watermark_lag_seconds", fmt::format("{{shard=\"{}\"}}", shard), lags_[shard].count());
  }
  if (last_success_) {
    text.family("last_success_timestamp_seconds", "gauge", "Time when the last pass was completed.");
    text.sample("last_success_timestamp_seconds", "", *last_success_);
  }
  return text.text();
}

}  // namespace looseleaf::cli

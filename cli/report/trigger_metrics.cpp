// A shard that does not answer has no lag in the text.
#include "cli/report/trigger_metrics.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "cli/files/replace_file.hpp"
#include "cli/report/prometheus.hpp"
#include "cli/report/repeated_failure.hpp"

namespace looseleaf::cli {
namespace {

constexpr auto between_writes = std::chrono::seconds(15);

}  // namespace

TriggerMetrics::TriggerMetrics(const Datastore& store, std::string trigger, std::string file)
    : store_(store), trigger_(std::move(trigger)), file_(std::move(file)) {
  write();
  thread_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
}

void TriggerMetrics::update(const TriggerReport& report) {
  const std::lock_guard lock(mutex_);
  report_ = report;
}

void TriggerMetrics::keep(const std::stop_token& stop) {
  RepeatedFailure failure("the metrics file");
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, between_writes, [] { return false; });
    }
    try {
      write();
      failure.tell(nullptr);
    } catch (const Error& error) {
      failure.tell(&error);
    }
  }
}

void TriggerMetrics::write() {
  replace_file(file_, text(), public_file);
}

std::string TriggerMetrics::text() {
  std::map<std::uint32_t, Error> down;
  const std::vector<TriggerStatus> triggers = store_.triggers(&down, trigger_);
  const std::string label = fmt::format("trigger=\"{}\"", trigger_);
  MetricsText text("trigger");
  {
    const std::lock_guard lock(mutex_);
    text.family("delivered_total", "counter", "Changes that the command has taken from this process.");
    text.sample("delivered_total", "{" + label + "}", report_.delivered);
    text.family("failures_total", "counter", "How often the command has not taken a batch.");
    text.sample("failures_total", "{" + label + "}", report_.failures);
    text.family("shards", "gauge", "Shards that this process reads.");
    text.sample("shards", "{" + label + "}", report_.shards.size());
  }
  text.family("lag_seconds", "gauge", "Age of the oldest change of the shard that was not taken; 0: none.");
  for (const TriggerStatus& trigger : triggers) {
    for (const TriggerShard& shard : trigger.shards) {
      text.sample("lag_seconds", fmt::format("{{{},shard=\"{}\"}}", label, shard.shard), shard.lag.count());
    }
  }
  text.family("lag_changes", "gauge", "Changes of the shard that were not taken, counted up to 100,000.");
  for (const TriggerStatus& trigger : triggers) {
    for (const TriggerShard& shard : trigger.shards) {
      text.sample("lag_changes", fmt::format("{{{},shard=\"{}\"}}", label, shard.shard), shard.lag_changes);
    }
  }
  return text.text();
}

}  // namespace looseleaf::cli

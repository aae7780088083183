// The metrics of a process that runs a trigger, in a file that Prometheus reads.
#pragma once

#include <condition_variable>
#include <looseleaf/datastore.hpp>
#include <looseleaf/trigger.hpp>
#include <mutex>
#include <string>
#include <thread>

namespace looseleaf::cli {

// Writes the file every 15 s, by a thread of its own, because it asks all shards for the trigger's lag. The counters
// start at 0 with the process.
class TriggerMetrics {
 public:
  // Throws Error(io) if the file cannot be written. `store` outlives the object.
  TriggerMetrics(const Datastore& store, std::string trigger, std::string file);
  TriggerMetrics(const TriggerMetrics&) = delete;
  TriggerMetrics& operator=(const TriggerMetrics&) = delete;

  // What the next text says of this process. May be called from any thread.
  void update(const TriggerReport& report);

 private:
  void keep(const std::stop_token& stop);
  void write();
  [[nodiscard]] std::string text();

  const Datastore& store_;
  const std::string trigger_;
  const std::string file_;
  std::mutex mutex_;  // guards report_
  TriggerReport report_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace looseleaf::cli

// Medians of what was recorded, and the ratios that are to be reached.
#pragma once

#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace looseleaf::bench {

// One thing that was measured in one or more runs.
struct Measurement {
  std::string work, variant, by;
  std::map<std::string, std::vector<double>> metrics;  // values by run
};

// Each line a record of measure.hpp; in the order of their first records. Throws on a line that is none.
[[nodiscard]] std::vector<Measurement> read_records(std::istream& lines);

struct Ratio {
  std::string name, goal;       // goal: "≥ 1.20", empty if there is none
  std::vector<double> values;   // by run; empty: missing, although other parts of this work were measured
  std::optional<bool> reached;  // by the median
};

// Of every work that was measured.
[[nodiscard]] std::vector<Ratio> ratios_of(const std::vector<Measurement>& measurements);

// Of those that a run of every work has.
[[nodiscard]] std::vector<std::string> names_of_ratios();

// What one entity cost, in seconds on processors: by the client, by the servers, and what was left idle (or was used by
// others). Empty where it was not measured. `measurement` is one of to_json().
[[nodiscard]] std::vector<double> costs_of(const nlohmann::ordered_json& measurement, unsigned cores);

[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Measurement>& measurements);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<Ratio>& ratios);

}  // namespace looseleaf::bench

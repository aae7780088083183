// A trigger is as late as the latest of its shards.
#include "cli/report/trigger_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

#include "cli/terminal/json.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct Totals {
  std::vector<std::uint32_t> shards;
  std::set<std::string> holders;
  std::uint64_t delivered = 0, lag_changes = 0;
  bool more = false;  // there are more changes than were counted
  std::chrono::seconds lag = {};
  const TriggerShard* failing = nullptr;  // the shard with the newest error, of those with the same one the first
};

Totals totals_of(const TriggerStatus& trigger) {
  Totals totals;
  for (const TriggerShard& shard : trigger.shards) {
    totals.shards.push_back(shard.shard);
    if (!shard.holder.empty()) {
      totals.holders.insert(shard.holder);
    }
    totals.delivered += shard.delivered;
    totals.lag_changes += shard.lag_changes;
    totals.more = totals.more || shard.lag_changes >= most_lag_counted;
    totals.lag = std::max(totals.lag, shard.lag);
    if (!shard.error.empty() && (totals.failing == nullptr || (shard.error_since < totals.failing->error_since) ==
                                                                  (shard.error == totals.failing->error))) {
      totals.failing = &shard;
    }
  }
  return totals;
}

std::string lag_of(std::chrono::seconds lag) {
  return grouped(static_cast<std::uint64_t>(lag.count())) + " s";
}

std::string changes_of(std::uint64_t changes, bool more) {
  return grouped(changes) + (more ? "+" : "");
}

std::string error_of(const TriggerShard* shard) {
  return shard == nullptr || shard->error.empty()
             ? ""
             : fmt::format("{}, since {}", shard->error, shard->error_since.substr(0, shard->error_since.find('.')));
}

void print_totals(const std::vector<TriggerStatus>& triggers, std::size_t unknown) {
  TableRows rows;
  for (const TriggerStatus& trigger : triggers) {
    const Totals totals = totals_of(trigger);
    rows.push_back({trigger.name, comma_separated(totals.shards),
                    totals.holders.empty() ? "nobody" : fmt::format("{}", fmt::join(totals.holders, ", ")),
                    grouped(totals.delivered), lag_of(totals.lag),
                    changes_of(totals.lag_changes, totals.more) +
                        (unknown == 0 ? "" : fmt::format(" ({} unknown)", counted(unknown, "shard", "shards"))),
                    error_of(totals.failing)});
  }
  print_table({{"trigger"}, {"shards"}, {"holder"}, {"delivered", true}, {"lag", true}, {"behind", true}, {"error"}},
              std::move(rows));
}

void print_shards(const std::vector<TriggerStatus>& triggers) {
  TableRows rows;
  for (const TriggerStatus& trigger : triggers) {
    for (const TriggerShard& shard : trigger.shards) {
      const std::string position = shard.position ? *shard.position + (shard.scanning ? " (scan)" : "") : "not begun";
      rows.push_back({trigger.name, std::to_string(shard.shard), shard.holder.empty() ? "nobody" : shard.holder,
                      position, grouped(shard.delivered), lag_of(shard.lag),
                      changes_of(shard.lag_changes, shard.lag_changes >= most_lag_counted), error_of(&shard)});
    }
  }
  print_line("");
  print_table({{"trigger"},
               {"shard", true},
               {"holder"},
               {"position (UTC)"},
               {"delivered", true},
               {"lag", true},
               {"behind", true},
               {"error"}},
              std::move(rows));
}

Json json_of(const TriggerShard& shard) {
  return {{"shard", shard.shard},
          {"holder", shard.holder.empty() ? Json(nullptr) : Json(shard.holder)},
          {"position", shard.position ? Json(*shard.position) : Json(nullptr)},
          {"scanning", shard.scanning},
          {"delivered", shard.delivered},
          {"lag_seconds", shard.lag.count()},
          {"lag_changes", shard.lag_changes},
          {"error", shard.error.empty() ? Json(nullptr) : Json(shard.error)},
          {"error_since", shard.error.empty() ? Json(nullptr) : Json(shard.error_since)}};
}

void print_as_json(const std::vector<TriggerStatus>& triggers, const std::vector<std::uint32_t>& unknown) {
  for (const TriggerStatus& trigger : triggers) {
    const Totals totals = totals_of(trigger);
    Json shards = Json::array();
    for (const TriggerShard& shard : trigger.shards) {
      shards.push_back(json_of(shard));
    }
    print_json({{"trigger", trigger.name},
                {"delivered", totals.delivered},
                {"lag_seconds", totals.lag.count()},
                {"lag_changes", totals.lag_changes},
                {"shards", std::move(shards)}});
  }
  print_summary({{"triggers", triggers.size()}, {"unknown", unknown}});
}

}  // namespace

void print_triggers(const std::vector<TriggerStatus>& triggers, const std::vector<std::uint32_t>& unknown,
                    const Globals& globals) {
  if (globals.json()) {
    print_as_json(triggers, unknown);
    return;
  }
  if (!triggers.empty()) {
    print_totals(triggers, unknown.size());
    if (globals.verbose) {
      print_shards(triggers);
    }
  }
}

}  // namespace looseleaf::cli

// The creation of indexes by `create-index` and `apply`.
#include "cli/commands/create_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "cli/commands/backfill_job.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

void print_step(const std::string& table, const CreatePlan::Step& step, const Globals& globals) {
  if (globals.json()) {
    print_json({{"table", table}, {"shards", step.shards}, {"sql", step.sql}, {"note", step.note}});
    return;
  }
  const std::string shards =
      fmt::format("-- {} {}", step.shards.size() == 1 ? "shard" : "shards", comma_separated(step.shards));
  if (step.sql.empty()) {
    print_line(fmt::format("{}: {}, {}", shards, table, step.note));
  } else {
    print_line(shards);
    print_lines(step.sql);
  }
}

void print_report(const CreateReport& report, bool to_be_filled, const Globals& globals) {
  if (globals.json()) {
    print_json({{"table", report.table}, {"created", report.created}, {"state", to_string(report.state)}});
  }
  const bool hint = report.state == IndexState::building && !to_be_filled;
  const auto done = report.created ? "created " + report.table : report.table + " is already active";
  print_note(fmt::format("{}: {}{}", done, to_string(report.state),
                         hint ? fmt::format("; run `looseleaf backfill {}`", report.table) : ""));
}

}  // namespace

void print_plans(const Datastore& store, const std::vector<IndexDefinition>& definitions, const Globals& globals) {
  for (const auto& plan : store.plan_indexes(definitions)) {
    for (const auto& step : plan.steps) {
      print_step(plan.table, step, globals);
    }
  }
}

Created create_and_fill(Datastore& store, const std::vector<IndexDefinition>& definitions, const Throttle* fill,
                        const Globals& globals) {
  if (fill != nullptr) {
    store.check_throttle(*fill);  // before anything is changed
  }
  BackfillOptions filling;
  try {
    // One at a time, so that those before one that fails are told.
    for (const IndexDefinition& definition : definitions) {
      const CreateReport report = store.create_indexes({definition}).front();
      print_report(report, fill != nullptr, globals);
      if (report.state == IndexState::building) {
        filling.tables.push_back(report.table);
      }
    }
  } catch (const Error&) {
    if (fill != nullptr && !filling.tables.empty()) {
      print_note(fmt::format("not filled: run `looseleaf backfill {}`", fmt::join(filling.tables, " ")));
    }
    throw;
  }
  Created created{.summary = {{"building", filling.tables}}, .all_ready = filling.tables.empty()};
  if (fill != nullptr && !filling.tables.empty()) {
    filling.throttle = *fill;
    const BackfillReport report = backfill(store, filling, globals);
    created.summary["building"] = Json::array();  // what has no conflict is ready
    for (const auto& [table, _] : report.conflicts) {
      created.summary["building"].push_back(table);
    }
    created.summary.update(to_json(report));
    created.status = exit_status_of(report);
    created.all_ready = report.conflicts.empty();
  }
  return created;
}

}  // namespace looseleaf::cli

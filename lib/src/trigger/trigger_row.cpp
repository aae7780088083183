// The columns barrier and position are the place; the rest of the position, and the error, are JSON in detail.
#include "trigger/trigger_row.hpp"

#include <fmt/format.h>

#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>

#include "sql/literals.hpp"

namespace looseleaf::trigger {
namespace {

using Json = nlohmann::ordered_json;

std::string to_detail(const TriggerRow& row) {
  Json detail = Json::object();
  if (row.position && row.position->witness) {
    detail["witness"] = {{"id", to_string(row.position->witness->id)},
                         {"stamp", to_string(row.position->witness->stamp)}};
  }
  if (row.position && row.position->scan) {
    detail["scan"] = {{"done", row.position->scan->done}, {"until", row.position->scan->until}};
  }
  if (row.error) {
    detail["error"] = {{"text", row.error->text}, {"since", row.error->since}, {"times", row.error->times}};
  }
  return detail.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void read_detail(TriggerRow& row, const std::string& text) {
  const Json detail = Json::parse(text);
  if (row.position && detail.contains("witness")) {
    const Json& witness = detail["witness"];
    row.position->witness = {Uuid::parse(witness.at("id").get<std::string>()).value_or(Uuid()),
                             base::parse_stamp(witness.at("stamp").get<std::string>())};
  }
  if (row.position && detail.contains("scan")) {
    row.position->scan = {detail["scan"].at("done"), detail["scan"].at("until")};
  }
  if (detail.contains("error")) {
    const Json& error = detail["error"];
    row.error = {error.at("text"), error.at("since"), error.at("times")};
  }
}

job::JobRow to_job_row(const TriggerRow& row) {
  job::JobRow job;
  job.job = trigger_job;
  job.table = row.name;
  job.generation = row.generation;
  if (row.position) {
    job.barrier = row.position->place.updated;
    job.position = row.position->place.added_id;
  }
  job.detail = to_detail(row);
  job.token = row.token;
  job.holder = row.holder;
  job.done = row.done;
  return job;
}

std::string key(const std::string& name) {
  return fmt::format("job = '{}' AND table_name = {}", trigger_job, sql::text_literal(name));
}

}  // namespace

TriggerRow to_trigger_row(const job::JobRow& row) {
  TriggerRow trigger{.name = row.table,
                     .generation = row.generation,
                     .token = row.token,
                     .holder = row.holder,
                     .done = row.done,
                     .since = row.since};
  if (row.barrier) {
    trigger.position = feed::ShardPosition{{*row.barrier, row.position.value_or(0)}};
  }
  try {
    read_detail(trigger, row.detail);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::corrupt, "the row of a trigger cannot be read",
                {{"trigger", row.table}, {"reason", error.what()}},
                "run `looseleaf trigger reset " + row.table + "` to begin again");
  }
  return trigger;
}

std::optional<TriggerRow> read_trigger(const sql::Database& database, const std::string& name) {
  const auto row = job::read_job(database, trigger_job, name);
  return row ? std::optional(to_trigger_row(*row)) : std::nullopt;
}

void write_trigger(const sql::Database& database, const TriggerRow& row) {
  job::write_job(database, to_job_row(row));
}

void remove_trigger(const sql::Database& database, const std::string& name) {
  database->execute(fmt::format("DELETE FROM {} WHERE {}", database.table("looseleaf_progress"), key(name)));
}

// One statement, so that no lock outlives a process that dies. It always changes the row, because its heartbeat
// differs; only if the clock stood still, it may report that it has changed none.
bool store_progress(const sql::Database& database, const TriggerRow& row) {
  const job::JobRow job = to_job_row(row);
  const std::string table = database.table("looseleaf_progress");
  const std::string ours =
      fmt::format("{} AND token = {} AND generation = {}", key(row.name), row.token, row.generation);
  const std::string place =
      job.barrier ? fmt::format("barrier = {}, position = {}, ", sql::stamp_literal(*job.barrier), *job.position) : "";
  const std::uint64_t changed =
      database->execute(fmt::format("UPDATE {} SET {}detail = {}, done = {}, heartbeat = NOW(6) WHERE {}", table, place,
                                    sql::text_literal(job.detail), job.done, ours));
  return changed > 0 || !database->query(fmt::format("SELECT 1 FROM {} WHERE {}", table, ours)).empty();
}

bool change_holder(const sql::Database& database, const std::string& name, std::uint64_t from, std::uint64_t to,
                   const std::string& holder) {
  return database->execute(fmt::format("UPDATE {} SET token = {}, holder = {}, since = NOW(6) WHERE {} AND token = {}",
                                       database.table("looseleaf_progress"), to, sql::text_literal(holder), key(name),
                                       from)) == 1;
}

}  // namespace looseleaf::trigger

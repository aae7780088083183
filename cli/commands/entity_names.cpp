// Reads the names of entities.
#include "cli/commands/entity_names.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/files/files.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {

bool EntityNames::from_input() const {
  std::vector<std::string> all = ids;
  all.insert(all.end(), keys.begin(), keys.end());
  return means_standard_input(all);
}

std::vector<KeyWithValues> EntityNames::parse() const {
  std::vector<KeyWithValues> named;
  for (const Uuid& id : cli::parse_ids(ids)) {
    named.push_back({{}, id, false});
  }
  std::transform(keys.begin(), keys.end(), std::back_inserter(named), KeyWithValues::parse);
  return named;
}

std::vector<Uuid> EntityNames::parse_ids() const {
  std::vector<Uuid> parsed;
  for (const KeyWithValues& named : parse()) {
    parsed.push_back(named.id);
  }
  return parsed;
}

AbsentEntities::AbsentEntities(const EntityNames& names) {
  for (const std::string& key : names.keys) {
    const KeyWithValues parsed = KeyWithValues::parse(key);
    named_.insert_or_assign(parsed.id, Named{key, parsed.has_number});
  }
}

Error AbsentEntities::error_of(const Uuid& id) const {
  Error error(ErrorCode::usage, "no such entity");
  if (const auto named = named_.find(id); named != named_.end()) {
    error.with("key", named->second.key);
    if (named->second.has_number) {
      error.with_hint("if a value is a string, quote it: 'a=\"1\"'; `put --csv` without --types stores only strings");
    }
  }
  return error;
}

void AbsentEntities::explain(WriteResult& result) const {
  if (result.status == WriteStatus::not_found && result.id) {
    result.error = error_of(*result.id);
  }
}

bool ends(WriteReport& report, std::optional<Position> next) {
  const bool ends = report.hopeless() || stop_requested();
  if (ends) {
    report.leave_rest(next);
  }
  return ends;
}

void write_ids_read(WriteReport& report, const std::function<void(const Uuid&, Position)>& write) {
  constexpr std::size_t lines_at_a_time = 1000;
  report.begin_input("-", 0);
  Input input("-");
  hint_if_terminal(input, "ids");
  IdReader reader(input);
  try {
    for (auto lines = reader.next(lines_at_a_time); !lines.empty(); lines = reader.next(lines_at_a_time)) {
      for (const auto& line : lines) {
        const Position position{line.line, 1};
        if (ends(report, position)) {
          return;
        }
        line.id ? write(*line.id, position) : report.reject(line);
      }
    }
    if (stop_requested() && !input.at_end()) {
      report.leave_rest(std::nullopt);
    }
  } catch (const Error& error) {
    report.input_failed(error);
  }
}

Parameter ids_parameter(EntityNames& names, std::string help) {
  return {.name = "ID", .help = std::move(help), .target = &names.ids, .required = true, .instead = &names.keys};
}

Parameter keys_parameter(EntityNames& names) {
  return {.name = "--key",
          .value = "KEY",
          .help = "an entity by its key instead of its id, such as `trip=7,column=BASE`",
          .target = &names.keys,
          .details =
              "Give it several times for several entities. The values are read as those of `query --where`: a "
              "number, or else a string; a string that looks like a number, or contains a comma, is written in "
              "double quotes. The entity must have been stored with `put --key`."};
}

}  // namespace looseleaf::cli

// The output of verify --against.
#include "cli/report/compare_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/text.hpp"
#include "cli/report/junit.hpp"
#include "cli/report/verify_output.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

using Kind = DifferenceKind;

constexpr Kind all_kinds[] = {Kind::missing,          Kind::extra,    Kind::different, Kind::unreadable,
                              Kind::other_unreadable, Kind::unsettled};
constexpr std::size_t usual_kinds = 3;  // the first ones

std::string text_of(const Difference& difference) {
  return fmt::format("{} shard {} other shard {} entity {}{}{}", to_string(difference.kind), difference.shard,
                     difference.other_shard, to_string(difference.entity_id), difference.reason.empty() ? "" : ": ",
                     difference.reason);
}

Json json_of(const Difference& difference) {
  return {{"kind", to_string(difference.kind)},
          {"shard", difference.shard},
          {"other_shard", difference.other_shard},
          {"entity_id", to_string(difference.entity_id)},
          {"reason", difference.reason.empty() ? Json(nullptr) : Json(difference.reason)}};
}

std::uint64_t differences_of(const CompareReport::Count& count, Kind kind) {
  const auto found = count.differences.find(kind);
  return found == count.differences.end() ? 0 : found->second;
}

Json json_of(const CompareReport& report) {
  Json shards = Json::array(), indexes = Json::array();
  for (const auto& [shard, count] : report.shards) {
    Json row{{"shard", shard}, {"entities", count.entities}};
    for (const Kind kind : all_kinds) {
      row[to_string(kind)] = differences_of(count, kind);
    }
    shards.push_back(std::move(row));
  }
  for (const DeclaredIndex& index : report.indexes) {
    indexes.push_back({{"table", index.table}, {"kind", to_string(index.kind)}, {"differences", index.differences}});
  }
  return {{"same", report.same()},         {"entities", report.entities},   {"other_entities", report.other_entities},
          {"findings", report.found},      {"unsettled", report.unsettled}, {"looked_again", report.looked_again},
          {"in_flight", report.in_flight}, {"follows", report.follows},     {"shards", std::move(shards)},
          {"indexes", std::move(indexes)}};
}

// A line for each shard. Kinds that are seldom found have a column only if they were.
void print_shards(const CompareReport& report) {
  std::vector<Kind> kinds(all_kinds, all_kinds + usual_kinds);
  std::copy_if(all_kinds + usual_kinds, std::end(all_kinds), std::back_inserter(kinds), [&](Kind kind) {
    return std::any_of(report.shards.begin(), report.shards.end(),
                       [&](const auto& shard) { return differences_of(shard.second, kind) > 0; });
  });
  std::vector<Column> columns{{"shard", true}, {"entities", true}};
  for (const Kind kind : kinds) {
    columns.push_back({to_string(kind), true});
  }
  TableRows rows;
  for (const auto& [shard, count] : report.shards) {
    std::vector<std::string> row{std::to_string(shard), std::to_string(count.entities)};
    for (const Kind kind : kinds) {
      row.push_back(std::to_string(differences_of(count, kind)));
    }
    rows.push_back(std::move(row));
  }
  print_table(columns, std::move(rows));
}

}  // namespace

void CompareOutput::add(const Difference& difference) {
  const std::uint64_t count = ++counts_[difference.shard][difference.kind];
  if (count <= samples_of_a_kind) {
    samples_[difference.shard].push_back(text_of(difference));
  }
  if (globals_.json()) {
    print_json(json_of(difference));
  } else if (all_ || count <= samples_of_a_kind) {
    print_line(text_of(difference));
  }
}

void CompareOutput::finish(const CompareReport& report) const {
  if (globals_.json()) {
    print_summary(json_of(report));
    warn_of_indexes(report);
    return;
  }
  print_left_out();
  print_shards(report);
  warn_of_indexes(report);
  print_notes(report);
}

void CompareOutput::print_left_out() const {
  for (const auto& [shard, kinds] : counts_) {
    for (const auto& [kind, count] : kinds) {
      if (!all_ && count > samples_of_a_kind) {
        print_line(fmt::format("... {} more {} shard {}", grouped(count - samples_of_a_kind), to_string(kind), shard));
      }
    }
  }
}

void CompareOutput::warn_of_indexes(const CompareReport& report) const {
  for (const DeclaredIndex& index : report.indexes) {
    Error::Context context = {{"index", index.table}, {"cluster_file", other_}, {"there", to_string(index.kind)}};
    for (const std::string& difference : index.differences) {
      context.emplace_back("difference", difference);
    }
    print_warning("an index is not the same in the other store", context,
                  "entities do not depend on it; create, fill or drop the index there if queries need it");
  }
}

void CompareOutput::print_notes(const CompareReport& report) const {
  if (report.looked_again > 0) {
    print_note(fmt::format("{} rechecked, {} {} being written", counted(report.looked_again, "suspect", "suspects"),
                           grouped(report.in_flight), report.in_flight == 1 ? "was" : "were"));
  }
  std::string result = report.same() ? "the same" : counted(report.found, "difference", "differences");
  if (report.unsettled > 0) {
    result += fmt::format(", {} unsettled", grouped(report.unsettled));
  }
  print_note(fmt::format("{} compared with {} in {}{}: {}", counted(report.entities, "entity", "entities"),
                         grouped(report.other_entities), other_, report.follows ? ", a copy that follows" : "",
                         result));
  for (const std::string& line : advice(report.follows)) {
    print_note(line);
  }
}

std::string CompareOutput::found_of(std::initializer_list<Kind> kinds) const {
  std::vector<std::string> names;
  for (const Kind kind : kinds) {
    if (std::any_of(counts_.begin(), counts_.end(), [&](const auto& shard) { return shard.second.contains(kind); })) {
      names.push_back(to_string(kind));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Nobody but the copier can write to a copy.
std::vector<std::string> CompareOutput::advice(bool for_copy) const {
  using Advice = std::vector<std::pair<std::string, std::string>>;  // kinds, and what to do
  const std::string other = base::shell_word(other_);
  const Advice texts =
      for_copy
          ? Advice{{found_of({Kind::missing, Kind::different, Kind::other_unreadable}),
                    "run `looseleaf get ID | looseleaf put`, so that it is copied again; find out which program wrote "
                    "to the copy"},
                   {found_of({Kind::extra}),
                    "put an entity with this id and delete it, so that the copy deletes it, too; find out which "
                    "program wrote to the copy"},
                   {found_of({Kind::unreadable}),
                    "the body was damaged, or another program wrote it: delete the entity, then put it again"},
                   {found_of({Kind::unsettled}),
                    fmt::format("let `looseleaf copy --to {}` catch up, then run the command again, perhaps with a "
                                "longer --grace",
                                other)}}
          : Advice{{found_of({Kind::missing, Kind::different}),
                    fmt::format("run `looseleaf get ID | looseleaf put --cluster {}`; find out which program wrote to "
                                "one of the stores, or did not",
                                other)},
                   {found_of({Kind::different}),
                    "if `get` prints the same from both stores, the texts differ in white space only: put what it "
                    "prints into both"},
                   {found_of({Kind::extra}),
                    fmt::format("run `looseleaf delete ID --cluster {}`, or put the entity here, too", other)},
                   {found_of({Kind::unreadable, Kind::other_unreadable}),
                    "the body was damaged, or another program wrote it: delete the entity there, then put it again"},
                   {found_of({Kind::unsettled}),
                    "run the command again, with a longer --grace or while there are fewer writes"}};
  std::vector<std::string> lines;
  for (const auto& [kinds, text] : texts) {
    if (!kinds.empty()) {
      lines.push_back(fmt::format("{}: {}", kinds, text));
    }
  }
  return lines;
}

std::string CompareOutput::junit(std::uint32_t shards, const Error* error) const {
  std::vector<JunitCase> cases;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const auto kinds = counts_.find(shard);
    if (kinds != counts_.end()) {
      cases.push_back(junit_case("entities", shard, kinds->second, samples_.at(shard)));
    } else if (error == nullptr) {
      cases.push_back(junit_case("entities", shard, Kinds(), {}));
    }
  }
  return junit_report(suite, cases, error, started_);
}

}  // namespace looseleaf::cli

// The options of export, changes and trigger.
#include "cli/commands/feed_options.hpp"

#include <fmt/format.h>

#include <array>
#include <looseleaf/cluster.hpp>
#include <optional>

#include "base/text.hpp"
#include "cli/commands/where_option.hpp"
#include "cli/files/files.hpp"
#include "cli/report/repeated_failure.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

// `changes` prints objects that have the position, and `export` says it in a line that names it.
std::optional<std::string> position_in(std::string_view line) {
  constexpr std::string_view name = "position: ";
  if (line.starts_with(name)) {
    return std::string(line.substr(name.size()));
  }
  const Json parsed = Json::parse(line, nullptr, false);
  const bool has_one = parsed.is_object() && parsed.contains("position") && parsed["position"].is_string();
  return has_one ? std::optional(parsed["position"].get<std::string>()) : std::nullopt;
}

// The changes behind the last position are not complete if the process that printed them died.
std::string last_position(std::string_view text, const std::string& file) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t begin = rest.find_last_of('\n') + 1;
    if (auto position = position_in(base::trimmed(rest.substr(begin)))) {
      return *std::move(position);
    }
    rest = rest.substr(0, begin == 0 ? 0 : begin - 1);
  }
  if (text.find('\n') != std::string_view::npos) {
    throw Error(ErrorCode::usage, "the end of a file has no position", {{"file", file}},
                "give the file that the output of `looseleaf changes` went to, or one with a position alone");
  }
  return std::string(text);
}

// Keeps no more than the end of a long file.
std::string read_position(const std::string& file) {
  constexpr std::size_t most = 64 << 20;  // a batch of changes, which may be large entities, and its position
  Input input(file);
  std::string text;
  std::array<char, 16 * 1024> chunk{};
  while (const std::size_t got = input.read(chunk.data(), chunk.size())) {
    text.append(chunk.data(), got);
    if (text.size() > 2 * most) {
      text.erase(0, text.size() - most);
    }
  }
  return last_position(base::trimmed(text), file);
}

}  // namespace

void add_feed_parameters(Command& command, FeedArguments& arguments, const std::string& help_of_after,
                         const std::string& details_of_after) {
  const std::vector<Parameter> parameters = {
      {.name = "--after",
       .value = "POSITION",
       .help = help_of_after,
       .target = &arguments.after,
       .details = details_of_after + " `@FILE` reads a position from a file, or from the last line "
                                     "that has one. A whole line that has one is a position, too."},
      where_parameter(arguments.where, Explained::by_query),
      {.name = "--shard",
       .value = "N",
       .help = "read only from this shard",
       .target = &arguments.shard,
       .range = {.most = max_shards - 1},
       .details = "The position says of the other shards that nothing was read from them."},
      {.name = "--limit",
       .value = "N",
       .help = "end after N entities or changes",
       .target = &arguments.limit,
       .range = {.least = 1}},
  };
  command.parameters.insert(command.parameters.end(), parameters.begin(), parameters.end());
}

std::string position_of(const std::string& after) {
  const std::string position =
      after.starts_with('@') ? read_position(after.substr(1)) : position_in(after).value_or(after);
  if (position.empty()) {  // a script whose position got lost would start again without noticing
    throw Error(ErrorCode::usage, "an empty position", {{"option", "--after"}, {"value", after}},
                "leave --after out to begin with all entities");
  }
  return position;
}

void set_feed_options(FeedOptions& options, const FeedArguments& arguments) {
  options.after = position_of(arguments.after);
  if (arguments.shard) {
    options.shard = static_cast<std::uint32_t>(*arguments.shard);
  }
  options.where = filters_of(arguments.where);
  options.limit = arguments.limit.value_or(0);
  options.stop = stop_requested;
}

std::string line_of(const Change& change) {
  const std::string head =
      fmt::format(R"({{"id":"{}","shard":{},"stamp":"{}",)", to_string(change.id), change.shard, change.stamp);
  switch (change.kind) {
    case Change::Kind::stored:
      return head + R"("entity":)" + on_one_line(change.text) + "}";
    case Change::Kind::deleted:
      return head + R"("deleted":true})";
    case Change::Kind::no_match:
      return head + R"("matches":false})";
    case Change::Kind::unreadable:
      return head + R"("unreadable":)" + Json(change.text).dump() + "}";
  }
  return head;
}

void tell_of_failure(std::uint32_t shard, const Error* failure) {
  if (failure == nullptr) {
    print_always(fmt::format("shard {} works again", shard));
    return;
  }
  Error error = repeated(*failure);
  print_error(error.with("shard", std::to_string(shard)));
}

Error unreadable(const Change& change) {
  return {ErrorCode::corrupt,
          change.text,
          {{"id", to_string(change.id)}, {"shard", std::to_string(change.shard)}},
          "delete it, and put it again from a backup; `looseleaf verify --all` lists all such entities"};
}

}  // namespace looseleaf::cli

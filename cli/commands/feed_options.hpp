// What export, changes and trigger share: their options, how a position is given, and the line of a change.
#pragma once

#include <looseleaf/feed.hpp>
#include <looseleaf/query.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

struct FeedArguments {
  std::string after = "beginning";
  std::optional<std::uint64_t> shard, limit;
  std::vector<std::string> where;
};

// Gives a command --after, --shard, --where and --limit, writing into `arguments`.
void add_feed_parameters(Command& command, FeedArguments& arguments, const std::string& help_of_after,
                         const std::string& details_of_after);

// Returns the position that the value of --after means. Reads the file that `@FILE` names. Throws Error(usage) if it is
// empty.
[[nodiscard]] std::string position_of(const std::string& after);

// Checks the arguments and writes them into `options`. Reads the file that `--after @FILE` names.
void set_feed_options(FeedOptions& options, const FeedArguments& arguments);

// Returns the line of a change. An entity is in it byte for byte.
[[nodiscard]] std::string line_of(const Change& change);

// Prints a message for a shard that fails for the time being, or without a failure, that works again.
void tell_of_failure(std::uint32_t shard, const Error* failure);

// Returns the error for an entity that cannot be read.
[[nodiscard]] Error unreadable(const Change& change);

}  // namespace looseleaf::cli

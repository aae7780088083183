// What export and changes share: their options, and how a position is given and printed.
#pragma once

#include <looseleaf/feed.hpp>
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

// Checks the arguments and writes them into `options`. Reads the file that `--after @FILE` names.
void set_feed_options(FeedOptions& options, const FeedArguments& arguments);

// Prints a message for an entity that cannot be read.
void print_unreadable(const Change& change);

}  // namespace looseleaf::cli

// An initialised cluster, short ways to fill it, and how the run of a program is judged.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/entities.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

// A cluster on the shared servers after `init`.
[[nodiscard]] TestCluster initialised(std::uint32_t shards = 2);
// The same on servers of its own, one a shard, for tests that kill them.
[[nodiscard]] TestCluster initialised_alone(std::uint32_t shards = 2);

// Checks the exit status, all of standard output, and that standard error holds these parts in this order; without any
// it must be empty.
void check_run(const cli::ProcessResult& result, int status, std::string_view out,
               const std::vector<std::string>& err = {});
// The same without a look at standard output, which it returns.
std::string check_status(const cli::ProcessResult& result, int status, const std::vector<std::string>& err = {});

// True if `text` holds the parts in this order.
[[nodiscard]] bool holds_in_order(std::string_view text, const std::vector<std::string>& parts);
[[nodiscard]] bool contains(std::string_view text, std::string_view part);
// Asks every 20 ms, and requires that the answer is true within the time; `what` is for the report.
void wait_until(const std::string& what, const std::function<bool()>& condition,
                std::chrono::seconds time = std::chrono::seconds(20));
// Lets a process go on that a failpoint has stopped, and waits for its end.
cli::ProcessResult resume(cli::Process& process);
// Sends a process the signal, and waits for its end.
cli::ProcessResult end_by(int signal, cli::Process& process);
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);
[[nodiscard]] std::size_t times(std::string_view part, std::string_view text);
[[nodiscard]] std::vector<std::string> sorted(std::vector<std::string> texts);
// The page token that a query has told; empty if there is no next page.
[[nodiscard]] std::string next_of(const cli::ProcessResult& page);
// The words, and then more of them.
[[nodiscard]] std::vector<std::string> joined(std::vector<std::string> words, const std::vector<std::string>& more);

// Puts the lines and requires that all are stored.
void put_all(const TestCluster& cluster, std::string_view lines);
// Creates the index that the text declares and requires that it worked.
void create_index(const TestCluster& cluster, std::string_view definition);
// How many rows a table has on all shards together.
[[nodiscard]] std::size_t rows_of(const TestCluster& cluster, const std::string& table);
// Which access each shard allows, with spaces between: "open frozen".
[[nodiscard]] std::string states(const TestCluster& cluster);

}  // namespace looseleaf::test

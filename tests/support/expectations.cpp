// What the tests of the command line share.
#include "tests/support/expectations.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "tests/support/errors.hpp"

namespace looseleaf::test {
namespace {

void check_hints(const std::string& err) {
  constexpr std::string_view start = "hint: ";
  for (const std::string& line : lines_of(err)) {
    if (line.starts_with(start)) {
      CHECK_MESSAGE(is_worded_as_hint(std::string_view(line).substr(start.size())), line);
    }
  }
}

TestCluster after_init(TestCluster cluster) {
  const cli::ProcessResult result = cluster.looseleaf({"init"});
  INFO(result.err);
  REQUIRE(result.status == 0);
  return cluster;
}

}  // namespace

TestCluster initialised(std::uint32_t shards) {
  return after_init(TestCluster::shared(shards));
}

TestCluster initialised_alone(std::uint32_t shards) {
  return after_init(TestCluster({.shards = shards, .servers = 0, .extra_args = {}}));
}

void check_run(const cli::ProcessResult& result, int status, std::string_view out,
               const std::vector<std::string>& err) {
  check_status(result, status, err);
  CHECK(result.out == out);
}

std::string check_status(const cli::ProcessResult& result, int status, const std::vector<std::string>& err) {
  INFO("standard error: ", result.err);
  INFO("expected there: ", fmt::format("{}", fmt::join(err, " … ")));
  CHECK(result.status == status);
  CHECK(holds_in_order(result.err, err));
  CHECK(result.err.empty() == err.empty());
  check_hints(result.err);
  return result.out;
}

bool holds_in_order(std::string_view text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    const std::size_t at = text.find(part);
    if (at == std::string_view::npos) {
      return false;
    }
    text.remove_prefix(at + part.size());
  }
  return true;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void wait_until(const std::string& what, const std::function<bool()>& condition, std::chrono::seconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!condition()) {
    REQUIRE_MESSAGE(std::chrono::steady_clock::now() < until, what);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

cli::ProcessResult resume(cli::Process& process) {
  return end_by(SIGCONT, process);
}

cli::ProcessResult end_by(int signal, cli::Process& process) {
  process.signal(signal);
  return process.wait();
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::size_t times(std::string_view part, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::string next_of(const cli::ProcessResult& page) {
  return contains(page.err, "next: ") ? lines_of(page.err).back().substr(6) : "";
}

std::vector<std::string> joined(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void put_all(const TestCluster& cluster, std::string_view lines) {
  const cli::ProcessResult result = cluster.looseleaf({"put", "--quiet"}, lines);
  INFO(result.err);
  REQUIRE(result.status == 0);
}

void create_index(const TestCluster& cluster, std::string_view definition) {
  const cli::ProcessResult result =
      cluster.looseleaf({"create-index", cluster.directory().write("definition.json", definition)});
  INFO(result.err);
  REQUIRE(result.status == 0);
}

std::size_t rows_of(const TestCluster& cluster, const std::string& table) {
  std::size_t rows = 0;
  for (std::uint32_t shard = 0; shard < cluster.shards(); ++shard) {
    rows += std::stoul(cluster.sql(shard, "SELECT COUNT(*) FROM " + table));
  }
  return rows;
}

std::string states(const TestCluster& cluster) {
  return fmt::format("{}", fmt::join(lines_of(cluster.everywhere("SELECT access FROM looseleaf_shard")), " "));
}

}  // namespace looseleaf::test

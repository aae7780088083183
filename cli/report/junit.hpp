// Reports in JUnit's XML, which CI systems show.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/error.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::cli {

struct JunitCase {
  std::string group, name;
  std::string failure = {};  // empty: the case has passed
  std::string details = {};  // lines
};

// The case of one shard: how many findings of each kind there are, and samples of them.
template <typename Kind>
[[nodiscard]] JunitCase junit_case(const std::string& group, std::uint32_t shard,
                                   const std::map<Kind, std::uint64_t>& kinds,
                                   const std::vector<std::string>& samples) {
  JunitCase one{group, fmt::format("shard {}", shard)};
  for (const auto& [kind, count] : kinds) {
    one.failure += fmt::format("{}{} {}", one.failure.empty() ? "" : ", ", count, to_string(kind));
  }
  for (const std::string& sample : samples) {
    one.details += sample + '\n';
  }
  return one;
}

// A test suite. `error`, unless null, is the reason why not everything was checked, and becomes a further case.
// `output` is what else there is to say, in lines; it may be empty.
[[nodiscard]] std::string junit_report(std::string_view suite, const std::vector<JunitCase>& cases, const Error* error,
                                       std::chrono::steady_clock::time_point started, const std::string& output = {});

// Writes the report of a command, which fails with `error` unless that is null, to a file; does nothing if `file` is
// empty. If the command fails, a report that cannot be written is only a warning.
void write_junit(const std::string& file, const std::function<std::string(const Error* error)>& report,
                 const Error* error);

// Returns what `work` returns, which the command needs before it can check anything. If `work` throws, writes a report
// that has only that error, so that nobody takes the report of an earlier run for that of this one.
template <typename Work>
[[nodiscard]] auto or_junit(const std::string& file, std::string_view suite, const Work& work) -> decltype(work()) {
  const auto started = std::chrono::steady_clock::now();
  try {
    return work();
  } catch (const Error& failure) {
    write_junit(
        file, [&](const Error* error) { return junit_report(suite, {}, error, started); }, &failure);
    throw;
  }
}

}  // namespace looseleaf::cli

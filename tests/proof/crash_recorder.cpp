// A process that puts and deletes entities at random until SIGTERM, and writes down each write before and after.
//
//   crash_recorder CLUSTER_FILE NAME SEED FIRST COUNT LOG
//
// It writes entities number FIRST to FIRST + COUNT - 1, some at a time. The log has a line "S NAME-k TIME ID BODY"
// (BODY is - for a delete) before, and "E NAME-k TIME STATUS" after, with tabs between; see crash_history.hpp. If
// another entity has the value of a unique index, its id follows. A line is handed to the kernel at once, so kill -9 of
// this process loses none.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <looseleaf/datastore.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/proof/crash_history.hpp"

namespace {

using looseleaf::test::crash_entity;
using looseleaf::test::crash_id;

volatile std::sig_atomic_t stop = 0;

const char* word(looseleaf::WriteStatus status) {
  switch (status) {
    case looseleaf::WriteStatus::stored:
      return "stored";
    case looseleaf::WriteStatus::not_found:
      return "not_found";
    case looseleaf::WriteStatus::rejected:
      return "rejected";
    case looseleaf::WriteStatus::failed:
      return "failed";
    case looseleaf::WriteStatus::buffered:
    case looseleaf::WriteStatus::exists:
    case looseleaf::WriteStatus::changed:
    case looseleaf::WriteStatus::unchanged:
    case looseleaf::WriteStatus::unknown:
      break;
  }
  return "unknown";
}

class CrashRecorder {
 public:
  CrashRecorder(const char* cluster_file, std::string name, std::uint64_t seed, int first, int count, const char* log)
      : datastore_(looseleaf::Datastore::open(looseleaf::Cluster::load(cluster_file))),
        name_(std::move(name)),
        random_(seed),
        first_(first),
        count_(count),
        log_(::open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {}

  void run() {
    while (stop == 0) {
      write_some();
    }
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }

  std::set<int> choose() {
    constexpr int most = 16;
    std::set<int> numbers;
    const int size = 1 + below(most);
    for (int i = 0; i < size; ++i) {
      numbers.insert(first_ + below(count_));
    }
    return numbers;
  }

  void write_some() {
    const std::set<int> numbers = choose();
    const bool remove = below(6) == 0;
    std::vector<std::string> names, bodies;
    std::vector<looseleaf::Uuid> ids;
    std::string lines;
    for (const int number : numbers) {
      names.push_back(fmt::format("{}-{}", name_, ++written_));
      bodies.push_back(crash_entity(number, random_(), names.back()));
      ids.push_back(*looseleaf::Uuid::parse(crash_id(number)));
      lines += fmt::format("S\t{}\t{}\t{}\t{}\n", names.back(), looseleaf::test::crash_now(), crash_id(number),
                           remove ? "-" : bodies.back());
    }
    append(lines);
    const auto results = remove ? datastore_.remove(ids) : datastore_.put(bodies);
    const long long now = looseleaf::test::crash_now();
    lines.clear();
    for (std::size_t i = 0; i < results.size(); ++i) {
      lines += fmt::format("E\t{}\t{}\t{}{}\n", names[i], now, word(results[i].status),
                           results[i].holder ? "\t" + to_string(*results[i].holder) : "");
      if (results[i].status == looseleaf::WriteStatus::failed) {
        fmt::print(stderr, "{}\n", results[i].error->what());
      }
    }
    append(lines);
  }

  void append(const std::string& lines) const {
    if (::write(log_, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) {
      throw looseleaf::Error(looseleaf::ErrorCode::io, "the log cannot be written");
    }
  }

  looseleaf::Datastore datastore_;
  const std::string name_;
  std::mt19937_64 random_;
  const int first_, count_, log_;
  int written_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "usage: crash_recorder CLUSTER_FILE NAME SEED FIRST COUNT LOG\n");
    return 2;
  }
  std::signal(SIGTERM, [](int) { stop = 1; });
  try {
    CrashRecorder(argv[1], argv[2], std::stoull(argv[3]), std::stoi(argv[4]), std::stoi(argv[5]), argv[6]).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
  return 0;
}

// A process that puts the same entities again and again, and writes down when each put ran and what became of it.
//
//   put_recorder CLUSTER_FILE NAME ROUNDS ENTITIES DIRECTORY OTHER_NAME
//
// It starts every batch together with the recorder OTHER_NAME: each counts its batches in a file of its own in
// DIRECTORY. Entities 2k have an indexed `color` that changes with every round; entities 2k+1 also have an `owner` of
// an immutable index, which is NAME: so of two recorders only the first to come can ever store one. All have the same
// `fixed`. Output, one line for each put: ROUND NUMBER START END STATUS; times are nanoseconds of the monotonic clock,
// which all processes of a machine share, around the batch that the put was in. After each round a line "round N".
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <looseleaf/datastore.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int batch = 500;

std::string entity(const std::string& name, int round, int number) {
  const std::string owner = number % 2 == 1 ? fmt::format(R"(,"owner":"{}")", name) : std::string();
  return fmt::format(R"({{"id":"{:032x}","color":"{} {} {}","fixed":"same"{}}})", number, name, round, number % 7,
                     owner);
}

long long now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char* word(looseleaf::WriteStatus status) {
  switch (status) {
    case looseleaf::WriteStatus::stored:
      return "stored";
    case looseleaf::WriteStatus::rejected:
      return "rejected";
    default:
      return "failed";
  }
}

// Where two recorders wait for each other.
class Meeting {
 public:
  Meeting(const std::string& directory, const std::string& name, const std::string& other)
      : mine_(directory + "/" + name, std::ios::app), other_(directory + "/" + other) {}

  void wait() {
    mine_ << '.' << std::flush;
    ++met_;
    std::error_code none_yet;
    while (std::filesystem::file_size(other_, none_yet) < met_ || none_yet) {  // absent at first
      none_yet.clear();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::ofstream mine_;
  const std::string other_;
  std::uintmax_t met_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "usage: put_recorder CLUSTER_FILE NAME ROUNDS ENTITIES DIRECTORY OTHER_NAME\n");
    return 2;
  }
  const std::string name = argv[2];
  const int rounds = std::stoi(argv[3]);
  const int entities = std::stoi(argv[4]);
  Meeting meeting(argv[5], name, argv[6]);
  auto datastore = looseleaf::Datastore::open(looseleaf::Cluster::load(argv[1]));
  for (int round = 0; round < rounds; ++round) {
    for (int from = 0; from < entities; from += batch) {
      std::vector<std::string> texts;
      for (int number = from; number < from + batch && number < entities; ++number) {
        texts.push_back(entity(name, round, number));
      }
      meeting.wait();
      const long long start = now();
      const auto results = datastore.put(texts);
      const long long end = now();
      for (std::size_t i = 0; i < results.size(); ++i) {
        fmt::print("{} {} {} {} {}\n", round, from + static_cast<int>(i), start, end, word(results[i].status));
        if (results[i].status == looseleaf::WriteStatus::failed) {
          fmt::print(stderr, "{}\n", results[i].error->what());
        }
      }
    }
    fmt::print("round {}\n", round);
    std::fflush(stdout);
  }
  return 0;
}

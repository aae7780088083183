// One line for each start and each end, its parts separated by tabs:
//   start NUMBER TIME put ID TEXT
//   start NUMBER TIME put ID TEXT EXPECTED
//   start NUMBER TIME merge ID TEXT
//   start NUMBER TIME remove ID
//   start NUMBER TIME get ID
//   start NUMBER TIME query INDEX PROPERTY FROM TO
//   end NUMBER TIME OUTCOME FOUND…    FOUND is TEXT of a get, ID TEXT ID TEXT… of a query, and of a put that was
//   rejected
//                                     the ID of the entity that had its key, if there is one
#include "tests/proof/history_record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <stdexcept>

namespace looseleaf::test {
namespace {

constexpr std::array<std::string_view, 5> actions = {"put", "remove", "get", "query", "merge"};
constexpr std::array<std::string_view, 6> outcomes = {"done", "not_found", "rejected", "failed", "unknown", "refused"};

template <typename Word, std::size_t Size>
Word parse_word(const std::array<std::string_view, Size>& words, const std::string& word) {
  return static_cast<Word>(std::find(words.begin(), words.end(), word) - words.begin());
}

Operation parse_start(const std::vector<std::string>& parts) {
  Operation operation;
  operation.start = std::stoll(parts.at(2));
  operation.action = parse_word<Action>(actions, parts.at(3));
  if (operation.action == Action::query) {
    operation.query = {parts.at(4), parts.at(5), parts.at(6), parts.at(7)};
  } else {
    operation.id = parts.at(4);
  }
  if (operation.action == Action::put || operation.action == Action::merge) {
    operation.text = parts.at(5);
  }
  if (parts.size() > 6 && operation.action == Action::put) {
    operation.expected = parts[6];
  }
  return operation;
}

void parse_end(const std::vector<std::string>& parts, Operation& operation) {
  operation.outcome = parse_word<Outcome>(outcomes, parts.at(3));
  if (operation.outcome != Outcome::unknown) {
    operation.end = std::stoll(parts.at(2));
  }
  if (operation.action == Action::get && parts.size() > 4) {
    operation.text = parts[4];
  }
  if (operation.outcome == Outcome::rejected && parts.size() > 4) {
    operation.holder = parts[4];
  }
  for (std::size_t i = 4; operation.action == Action::query && i + 1 < parts.size(); i += 2) {
    operation.found.emplace_back(parts[i], parts[i + 1]);
  }
}

}  // namespace

long long monotonic_now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<std::string> tab_separated(std::string_view line) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t tab = line.find('\t');
    parts.emplace_back(line.substr(0, tab));
    if (tab == std::string_view::npos) {
      return parts;
    }
    line.remove_prefix(tab + 1);
  }
}

Recorder::Recorder(const std::string& file)
    : file_(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
  if (file_ < 0) {
    throw std::runtime_error("cannot write " + file);
  }
}

Recorder::~Recorder() {
  ::close(file_);
}

int Recorder::start(const Operation& operation) {
  const int number = ++last_number_;
  const RangeQuery& query = operation.query;
  std::string arguments = operation.id;
  if (operation.action == Action::put || operation.action == Action::merge) {
    arguments += '\t' + operation.text + (operation.expected ? '\t' + *operation.expected : std::string());
  } else if (operation.action == Action::query) {
    arguments = fmt::format("{}\t{}\t{}\t{}", query.index, query.property, query.from, query.to);
  }
  write_line(fmt::format("start\t{}\t{}\t{}\t{}", number, monotonic_now(),
                         actions.at(static_cast<std::size_t>(operation.action)), arguments));
  return number;
}

void Recorder::end(int number, Outcome outcome, const std::vector<std::string>& found) {
  std::string line =
      fmt::format("end\t{}\t{}\t{}", number, monotonic_now(), outcomes.at(static_cast<std::size_t>(outcome)));
  for (const std::string& part : found) {
    line += '\t' + part;
  }
  write_line(std::move(line));
}

void Recorder::write_line(std::string line) const {
  line += '\n';
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("a record cannot be written");
  }
}

std::vector<Operation> read_records(const std::string& file, const std::string& process) {
  std::vector<Operation> operations;
  std::map<std::string, std::size_t> by_number;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line) && !lines.eof();) {  // the last line may be cut off
    const std::vector<std::string> parts = tab_separated(line);
    if (parts.at(0) == "start") {
      by_number[parts.at(1)] = operations.size();
      operations.push_back(parse_start(parts));
      operations.back().name = process + "/" + parts[1];
    } else {
      parse_end(parts, operations.at(by_number.at(parts.at(1))));
    }
  }
  return operations;
}

}  // namespace looseleaf::test

// Prints similar failures only a few times, and counts the others.
#include "cli/report/failure_digest.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t kinds_told_apart = 100;

bool about_one_entity(const std::string& key) {
  static constexpr std::array<std::string_view, 4> keys{"file", "line", "column", "id"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

void FailureDigest::add(const Error& error) {
  if (!printed_of_a_kind_) {
    print_error(error);
    return;
  }
  Kind kind{error.what(), {}};
  std::copy_if(error.context().begin(), error.context().end(), std::back_inserter(kind.second),
               [](const auto& pair) { return !about_one_entity(pair.first); });
  auto known = counts_.find(kind);
  if (known == counts_.end()) {
    if (counts_.size() == kinds_told_apart) {
      ++others_;
      return;
    }
    known = counts_.emplace(std::move(kind), 0).first;
  }
  if (++known->second <= *printed_of_a_kind_) {
    print_error(error);
  }
}

void FailureDigest::finish(const std::string& hint) const {
  for (const auto& [kind, count] : counts_) {
    if (count > *printed_of_a_kind_) {
      Error::Context context = kind.second;
      context.emplace_back(things_, grouped(count - *printed_of_a_kind_) + " more");
      print_error(Error(ErrorCode::server, kind.first, std::move(context), hint));
    }
  }
  if (others_ > 0) {
    print_error(Error(ErrorCode::server, "failures of many other kinds", {{things_, grouped(others_)}}, hint));
  }
}

}  // namespace looseleaf::cli

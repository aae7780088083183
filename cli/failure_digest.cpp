// Failures that are alike, told once.
#include "cli/failure_digest.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "cli/messages.hpp"
#include "cli/text.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t kinds_told_apart = 100;

bool about_one_entity(const std::string& key) {
  static constexpr std::array<std::string_view, 4> keys{"file", "line", "column", "id"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

void FailureDigest::add(const Error& error) {
  Kind kind{error.what(), {}};
  std::copy_if(error.context().begin(), error.context().end(), std::back_inserter(kind.second),
               [](const auto& pair) { return !about_one_entity(pair.first); });
  const auto known = repeated_.find(kind);
  if (known != repeated_.end()) {
    ++known->second;
  } else if (repeated_.size() < kinds_told_apart) {
    repeated_.emplace(std::move(kind), 0);
    print_error(error);
  } else {
    ++others_;
  }
}

void FailureDigest::finish() const {
  for (const auto& [kind, count] : repeated_) {
    if (count > 0) {
      Error::Context context = kind.second;
      context.emplace_back(things_, grouped(count) + " more");
      print_error(Error(ErrorCode::server, kind.first, std::move(context)));
    }
  }
  if (others_ > 0) {
    print_error(Error(ErrorCode::server, "failures of many other kinds", {{things_, grouped(others_)}}));
  }
}

}  // namespace looseleaf::cli

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
constexpr std::uint64_t most_of_a_kind = 20;

template <std::size_t count>
bool is_one_of(const std::array<std::string_view, count>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// True if failures of this kind say the same on every shard.
bool is_same_everywhere(ErrorCode code) {
  return code == ErrorCode::corrupt || code == ErrorCode::frozen || code == ErrorCode::moved;
}

// True if failures that differ only in the values of this key are of one kind. Where a damaged body is stored does not
// matter, but a server that fails is named.
bool differs_within_kind(const Error& error, const std::string& key) {
  static constexpr std::array<std::string_view, 11> of_entity{
      "file", "line", "column", "closed_line", "last_line", "detail", "id", "key", "stored bytes", "values", "holder"};
  static constexpr std::array<std::string_view, 4> of_shard{"shard", "server", "database", "since"};
  return is_one_of(of_entity, key) || (is_same_everywhere(error.code()) && is_one_of(of_shard, key));
}

}  // namespace

std::optional<std::uint64_t> printed_of_a_kind(const Globals& globals) {
  return globals.verbose ? std::nullopt : std::optional(most_of_a_kind);
}

void FailureDigest::add(const Error& error) {
  if (!printed_of_a_kind_) {
    print(error);
    return;
  }
  Kind kind{error.what(), {}};
  std::copy_if(error.context().begin(), error.context().end(), std::back_inserter(kind.second),
               [&](const auto& pair) { return !differs_within_kind(error, pair.first); });
  auto known = counts_.find(kind);
  if (known == counts_.end()) {
    if (counts_.size() == kinds_told_apart) {
      ++others_;
      return;
    }
    known = counts_.emplace(std::move(kind), 0).first;
  }
  if (++known->second <= *printed_of_a_kind_) {
    print(error);
  }
}

void FailureDigest::finish() {
  for (const auto& [kind, count] : counts_) {
    if (count > *printed_of_a_kind_) {
      Error::Context context = kind.second;
      context.emplace_back(things_, grouped(count - *printed_of_a_kind_) + " more");
      print(Error(ErrorCode::server, kind.first, std::move(context), hint_));
    }
  }
  if (others_ > 0) {
    print(Error(ErrorCode::server, "failures of many other kinds", {{things_, grouped(others_)}}, hint_));
  }
  counts_.clear();
  others_ = 0;
}

void FailureDigest::print_all() {
  finish();
  printed_of_a_kind_.reset();
}

void FailureDigest::print(const Error& error) const {
  if (severity_ == Severity::error) {
    print_error(error);
  } else {
    print_warning(error.what(), error.context(), error.hint());
  }
}

}  // namespace looseleaf::cli

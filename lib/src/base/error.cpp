// The library's exception.
#include <fmt/format.h>

#include <algorithm>
#include <looseleaf/error.hpp>

#include "base/error_text.hpp"

namespace looseleaf {

Error::Error(ErrorCode code, const std::string& what, Context context, std::string hint)
    : std::runtime_error(what), code_(code), context_(std::move(context)), hint_(std::move(hint)) {}

Error::~Error() = default;

Error& Error::with(const std::string& key, const std::string& value) {
  const auto same_key = [&](const auto& pair) { return pair.first == key; };
  if (std::none_of(context_.begin(), context_.end(), same_key)) {
    context_.emplace_back(key, value);
  }
  return *this;
}

Error& Error::with_hint(const std::string& hint) {
  hint_ = hint;
  return *this;
}

namespace base {

std::string on_one_line(const Error& error) {
  std::string facts;
  for (const auto& [key, value] : error.context()) {
    facts += fmt::format("{}{}: {}", facts.empty() ? "" : ", ", key, value);
  }
  return facts.empty() ? error.what() : fmt::format("{} ({})", error.what(), facts);
}

}  // namespace base

}  // namespace looseleaf

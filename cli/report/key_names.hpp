// The properties that `put --key` names, compared with what the input has: a property that is nowhere is misspelt.
#pragma once

#include <looseleaf/key.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::cli {

// What to do about a property of --key that is not there, where `names` are.
[[nodiscard]] std::string hint_for_missing(std::string_view property, std::span<const std::string_view> names);

class KeyNames {
 public:
  explicit KeyNames(const Key& key) : missing_(key.properties()) {}

  // Some entity has them all.
  void find_all() { missing_.clear(); }
  // Looks for them in an entity that was rejected, perhaps because it lacks one.
  void find_in(std::string_view entity);
  // Prints an error for each property that no entity had.
  void report() const;

 private:
  std::vector<std::string> missing_;
  std::set<std::string> names_;  // of members that entities have
  bool looked_ = false;
};

}  // namespace looseleaf::cli

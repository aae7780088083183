// Finds the word that a misspelt word most likely means.
#include "base/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.hpp"

namespace looseleaf::base {
namespace {

bool equal(char a, char b) {
  return ascii_lower(a) == ascii_lower(b);
}

bool begins_with(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(), equal);
}

// Returns the optimal string alignment distance; keeps only three rows of the usual table.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (equal(a[i - 1], b[j - 1]) ? 0U : 1U)});
      if (i > 1 && j > 1 && equal(a[i - 1], b[j - 2]) && equal(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t shortest_abbreviation = 3, most_edits = 2;
  std::optional<std::string_view> best;
  std::size_t fewer_than = std::min(word.size(), std::clamp<std::size_t>((word.size() + 1) / 3, 1, most_edits) + 1);
  for (const std::string_view candidate : candidates) {
    const bool abbreviated = word.size() >= shortest_abbreviation && begins_with(candidate, word);
    const std::size_t edits = std::min(edits_between(word, candidate), abbreviated ? 1U : word.size());
    if (edits < fewer_than) {
      best = candidate;
      fewer_than = edits;
    }
  }
  return best;
}

}  // namespace looseleaf::base

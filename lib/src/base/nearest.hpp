// Finds the word that a misspelt word most likely means. The program compiles this file too.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace looseleaf::base {

// Returns the candidate that `word` most likely means; absent if none is similar. ASCII case is ignored. Inserting,
// deleting, replacing or swapping letters counts as one edit each, and a third of the word's letters may be wrong. If a
// word of three or more letters is the beginning of a candidate, the candidate is similar at any length. The result
// points into the candidate's own text.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> candidates);

}  // namespace looseleaf::base

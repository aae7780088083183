// What a misspelt word was meant to be. The program compiles this file too.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace looseleaf::base {

// The candidate that `word` was most likely meant to be; absent if none is near. ASCII case is ignored; a letter more,
// less, another one, or two swapped are one edit, and a third of the word's letters may be wrong. Three letters or
// more that a candidate begins with are near it however long it is. The result points into the candidate's own text.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> candidates);

}  // namespace looseleaf::base

// What a store has under given ids.
#pragma once

#include <cstdint>
#include <looseleaf/compare.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/stamp.hpp"
#include "compare/store.hpp"
#include "compare/text_digest.hpp"
#include "shard/entity_rows.hpp"

namespace looseleaf::compare {

struct Content {
  enum class Kind { absent, text, unreadable };
  Kind kind = Kind::absent;
  std::optional<base::Stamp> stamp = {};  // of the row; a tombstone has one, too
  Digest digest = {};                     // of a text
  std::string problem = {};               // why it is unreadable
};

// Returns true if both are the same text, or both are absent.
[[nodiscard]] bool same(const Content& one, const Content& other);

// Returns how contents differ that are not the same, each with a reason, or an empty one.
[[nodiscard]] std::vector<std::pair<DifferenceKind, std::string>> kinds_of_difference(const Content& here,
                                                                                      const Content& there);

// `row` has its body, unless it is a tombstone.
[[nodiscard]] Content content_of(const shard::EntityRow& row, const Digester& digester);

// Returns the contents of sorted ids, in their order, from servers that were writable afterwards.
[[nodiscard]] std::vector<Content> read_contents(const Store& store, std::span<const Uuid> ids,
                                                 const Digester& digester);

}  // namespace looseleaf::compare

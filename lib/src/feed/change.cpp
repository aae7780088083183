// Decodes and filters a row.
#include "feed/change.hpp"

#include <looseleaf/error.hpp>
#include <utility>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/parsed_entity.hpp"

namespace looseleaf::feed {

std::optional<Change> to_change(std::uint32_t shard, const shard::EntityRow& row, const model::Filter& filter,
                                Source source) {
  Change change{.kind = Change::Kind::deleted, .id = row.id, .shard = shard, .stamp = to_string(row.updated)};
  if (!row.body) {
    return change;
  }
  try {
    change.text = codec::decode_body(*row.body, model::max_body_size);
    const model::ParsedEntity entity(change.text, row.id);
    change.kind = filter.matches(entity) ? Change::Kind::stored : Change::Kind::no_match;
  } catch (const Error& error) {
    change.kind = Change::Kind::unreadable;
    change.text = error.what();
  }
  if (change.kind == Change::Kind::no_match) {
    change.text.clear();
    return source == Source::scan ? std::nullopt : std::optional(std::move(change));
  }
  return change;
}

}  // namespace looseleaf::feed

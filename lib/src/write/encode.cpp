// Turns an entity's text into its body and its expected rows.
#include "write/encode.hpp"

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "shard/placed_rows.hpp"
#include "shard/placement.hpp"

namespace looseleaf::write {

std::optional<Write> encode_put(shard::Shards& shards, WriteResult& result) {
  try {
    const model::AcceptedEntity entity = model::accept_entity(result.text, result.position);
    result.id = entity.id;
    Write write{entity.id, codec::encode_body(entity.text), std::nullopt, &result};
    // Computes the expected rows now, while the parsed body is available. If the catalog is not loaded yet, or turns
    // out to be outdated, the writer must parse the body again.
    const std::uint32_t shard = shard::shard_of(entity.id, shards.count());
    if (const auto catalog = shards.catalogs().cached(shard)) {
      write.expected =
          ExpectedRows{catalog->epoch, shard::placed_rows(*catalog, entity.id, &entity.parsed, shard, shards.count())};
    }
    return write;
  } catch (const Error& error) {
    result.status = WriteStatus::rejected;
    result.error = error;
  } catch (const std::exception& error) {
    result.status = WriteStatus::failed;
    result.error = resource_exhausted(error);
  }
  return std::nullopt;
}

void settle_text(WriteResult& result) {
  if (result.status == WriteStatus::stored) {
    result.text.clear();
  } else if (result.status == WriteStatus::unknown && !result.text.empty()) {
    result.text = model::name_id(result.text, *result.id);
  }
}

}  // namespace looseleaf::write

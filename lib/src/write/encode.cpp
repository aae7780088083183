// Turns an entity's text into its body and its expected rows.
#include "write/encode.hpp"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "shard/placed_rows.hpp"
#include "shard/placement.hpp"
#include "write/unique_values.hpp"

namespace looseleaf::write {

namespace {

// Names are compared letter by letter, so an id under such a name is lost on people who expect otherwise.
void warn_of_other_spelling(shard::Shards& shards, const model::ParsedEntity& entity) {
  for (const char* const name : {"ID", "Id", "_id"}) {
    const auto has = [&](const std::string& path) { return entity.examine({path, false, Operator::exists, {}}).meets; };
    const bool is_uuid = !entity.property_values({.name = name, .type = PropertyType::uuid}).empty();
    const bool is_of_mongodb = name == std::string_view("_id") && has(name);
    if (!is_uuid && !is_of_mongodb) {
      continue;
    }
    const std::string value = has(std::string(name) + ".$oid") ? "_id.$oid" : name;
    shards.warnings().give(
        {fmt::format("entities have a member \"{}\", but no \"id\"; they got new ids", name),
         {},
         is_uuid ? "rename the member to \"id\" to store them under their own ids"
                 : fmt::format("put them with --key '{}': ids are then made of its values, so that the same entity put "
                               "again replaces the one that is there",
                               value)});
  }
}

// The lines of `changes` and of `get --stamps` have the entity in a member. Put as they are, they replace it.
void warn_of_wrapped(shard::Shards& shards, const model::AcceptedEntity& entity) {
  if (entity.text.find("\"stamp\"") == std::string::npos) {  // which is fast
    return;
  }
  const auto has = [&](const char* path) { return entity.parsed.examine({path, false, Operator::exists, {}}).meets; };
  if (has("stamp") && has("entity.id")) {
    shards.warnings().give(
        {"entities look like lines of `changes` or of `get --stamps`, which have the entity in a member",
         {},
         "they are stored as they are; if that is a mistake, put the members \"entity\" of the same lines"});
  }
}

// Computes the expected rows now, while the parsed body is available. If the catalog is not loaded yet, or turns out to
// be outdated, the writer must parse the body again.
Write to_write(shard::Shards& shards, const model::ParsedEntity& entity, std::string body, WriteResult& result) {
  const Uuid& id = *result.id;
  Write write{id, std::move(body), std::nullopt, &result};
  const std::uint32_t shard = shard::shard_of(id, shards.count());
  if (const auto catalog = shards.catalogs().cached(shard)) {
    write.expected = ExpectedRows{catalog->epoch, shard::placed_rows(*catalog, id, &entity, shard, shards.count()),
                                  too_long(*catalog, entity)};
  }
  return write;
}

std::optional<Write> encode(WriteResult& result, const std::function<Write()>& make) {
  try {
    return make();
  } catch (const Error& error) {
    result.status = WriteStatus::rejected;
    result.error = error;
  } catch (const std::exception& error) {
    result.status = WriteStatus::failed;
    result.error = resource_exhausted(error);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Write> encode_put(shard::Shards& shards, WriteResult& result, const Key& key) {
  return encode(result, [&] {
    const model::AcceptedEntity entity = model::accept_entity(result.text, result.position, key);
    result.id = entity.id;
    if (entity.id_was_made) {
      warn_of_other_spelling(shards, entity.parsed);
    } else {
      warn_of_wrapped(shards, entity);
    }
    return to_write(shards, entity.parsed, codec::encode_body(entity.text), result);
  });
}

std::optional<Write> encode_stored(shard::Shards& shards, std::string body, WriteResult& result) {
  return encode(result, [&] {
    const std::string text = codec::decode_body(body, model::max_body_size);
    const model::ParsedEntity entity(text, *result.id);
    return to_write(shards, entity, std::move(body), result);
  });
}

WriteResult put_one(shard::Shards& shards, Writer& writer, const std::string& text, const Condition& condition,
                    const Key& key) {
  WriteResult result;
  result.text = text;
  if (auto write = encode_put(shards, result, key)) {
    write->condition = condition;
    writer.write_batch({&*write, 1}, shards.deadline());
  }
  settle_text(result);
  return result;
}

void settle_text(WriteResult& result) {
  if (result.status == WriteStatus::stored || result.status == WriteStatus::buffered) {
    result.text.clear();
  } else if (result.status == WriteStatus::unknown && !result.text.empty()) {
    result.text = model::name_id(result.text, *result.id);
  }
}

}  // namespace looseleaf::write

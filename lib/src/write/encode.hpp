// Prepares an entity's text for writing, before any lock is held; and puts one alone.
#pragma once

#include <looseleaf/key.hpp>
#include <looseleaf/write.hpp>
#include <optional>
#include <string>

#include "shard/shards.hpp"
#include "write/put.hpp"

namespace looseleaf::write {

// Parses and compresses `result.text`, which began at `result.position`, and sets `result.id`. Returns nothing if the
// result is final: the text is not an entity with this key, or it could not be encoded.
[[nodiscard]] std::optional<Write> encode_put(shard::Shards& shards, WriteResult& result, const Key& key);

// Prepares an entity that is stored in another cluster, with its body, for `result.id`. Returns nothing if the result
// is final, with Error(corrupt) if the body cannot be read, or is another entity's.
[[nodiscard]] std::optional<Write> encode_stored(shard::Shards& shards, std::string body, WriteResult& result);

// Makes WriteResult::text what it is to be for the caller, once the outcome of a put is final.
void settle_text(WriteResult& result);

// Puts one entity in the caller's own thread: a stream's threads would take as long to start as the servers to answer.
// To be called after Shards::prepare_put().
[[nodiscard]] WriteResult put_one(shard::Shards& shards, Writer& writer, const std::string& text,
                                  const Condition& condition, const Key& key);

}  // namespace looseleaf::write

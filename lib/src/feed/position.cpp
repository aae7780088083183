// The bytes of a position: a version, the cluster's id, the number of shards; for each shard a byte of flags and the
// members that they announce.
#include "feed/position.hpp"

#include <fmt/format.h>

#include <looseleaf/error.hpp>

#include "base/token.hpp"
#include "shard/statements.hpp"

namespace looseleaf::feed {
namespace {

using base::append_number;

constexpr std::uint64_t version = 1;
constexpr std::uint64_t begun = 1, has_witness = 2, is_scanning = 4;  // flags of a shard
constexpr std::size_t id_size = 16;

void append_stamp(std::string& bytes, base::Stamp stamp) {
  append_number(bytes, static_cast<std::uint64_t>(stamp.micros));
}

base::Stamp read_stamp(base::ByteReader& reader) {
  return {static_cast<std::int64_t>(reader.number())};
}

Uuid read_id(base::ByteReader& reader) {
  return Uuid::from_bytes(reader.take(id_size)).value_or(Uuid());
}

void append_shard(std::string& bytes, const std::optional<ShardPosition>& shard) {
  if (!shard) {
    append_number(bytes, 0, 1);
    return;
  }
  append_number(bytes, begun | (shard->witness ? has_witness : 0) | (shard->scan ? is_scanning : 0), 1);
  append_stamp(bytes, shard->place.updated);
  append_number(bytes, shard->place.added_id);
  if (shard->witness) {
    bytes += shard::bytes_of(shard->witness->id);
    append_stamp(bytes, shard->witness->stamp);
  }
  if (shard->scan) {
    append_number(bytes, shard->scan->done);
    append_number(bytes, shard->scan->until);
  }
}

std::optional<ShardPosition> read_shard(base::ByteReader& reader) {
  const std::uint64_t flags = reader.number(1);
  if ((flags & begun) == 0) {
    return std::nullopt;
  }
  ShardPosition shard;
  shard.place.updated = read_stamp(reader);
  shard.place.added_id = reader.number();
  if ((flags & has_witness) != 0) {
    shard.witness = {read_id(reader), {}};
    shard.witness->stamp = read_stamp(reader);
  }
  if ((flags & is_scanning) != 0) {
    shard.scan = {reader.number(), 0};
    shard.scan->until = reader.number();
  }
  return shard;
}

[[noreturn]] void refuse(const char* what, Error::Context context = {}) {
  throw Error(ErrorCode::bad_position, what, std::move(context),
              "give a position that `looseleaf export` or `looseleaf changes` printed for this cluster, unchanged");
}

}  // namespace

std::string to_text(const Position& position) {
  std::string bytes;
  append_number(bytes, version, 1);
  bytes += shard::bytes_of(position.cluster_id);
  append_number(bytes, position.shards.size(), sizeof(std::uint32_t));
  for (const auto& shard : position.shards) {
    append_shard(bytes, shard);
  }
  return base::to_token(bytes);
}

Position parse_position(const std::string& text, const Uuid& cluster_id, std::uint32_t shards) {
  const auto bytes = base::from_token(text);
  if (!bytes) {
    refuse("not a position");
  }
  base::ByteReader reader(*bytes);
  if (reader.number(1) != version) {
    refuse("the position is of another version of looseleaf");
  }
  Position position;
  position.cluster_id = read_id(reader);
  if (position.cluster_id != cluster_id) {
    refuse("the position belongs to another cluster",
           {{"expected", to_string(cluster_id)}, {"found", to_string(position.cluster_id)}});
  }
  const std::uint64_t count = reader.number(sizeof(std::uint32_t));
  if (count != shards) {
    refuse("the position has another number of shards",
           {{"expected", fmt::format("{}", shards)}, {"found", fmt::format("{}", count)}});
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    position.shards.push_back(read_shard(reader));
  }
  if (!reader.complete()) {
    refuse("not a position");
  }
  return position;
}

}  // namespace looseleaf::feed

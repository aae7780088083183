// Texts are reduced to digests as soon as they were read, so that memory is bounded.
#include "compare/contents.hpp"

#include <algorithm>
#include <looseleaf/error.hpp>
#include <ranges>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "scan/entity_scan.hpp"
#include "shard/placement.hpp"

namespace looseleaf::compare {
namespace {

constexpr std::size_t rows_at_once = 500;  // with their bodies

// Reads a row that was read without its body again, as it is now.
std::optional<shard::EntityRow> read_whole(shard::Shards& shards, std::uint32_t shard, const Uuid& id) {
  return shard::read_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
    return shard::read_entity(database, id, shard::Lock::none);
  });
}

}  // namespace

bool same(const Content& one, const Content& other) {
  return one.kind == other.kind && one.kind != Content::Kind::unreadable && one.digest == other.digest;
}

Content content_of(const shard::EntityRow& row, const Digester& digester) {
  Content content{.stamp = row.updated};
  if (!row.body) {
    return content;
  }
  try {
    content.digest = digester.digest(row.id, codec::decode_body(*row.body, model::max_body_size));
    content.kind = Content::Kind::text;
  } catch (const Error& error) {
    content.kind = Content::Kind::unreadable;
    content.problem = error.what();
  }
  return content;
}

std::vector<std::pair<DifferenceKind, std::string>> kinds_of_difference(const Content& here, const Content& there) {
  using Kind = Content::Kind;
  std::vector<std::pair<DifferenceKind, std::string>> kinds;
  if (here.kind == Kind::unreadable) {
    kinds.emplace_back(DifferenceKind::unreadable, here.problem);
  }
  if (there.kind == Kind::unreadable) {
    kinds.emplace_back(DifferenceKind::other_unreadable, there.problem);
  }
  if (kinds.empty()) {
    kinds.emplace_back(there.kind == Kind::absent  ? DifferenceKind::missing
                       : here.kind == Kind::absent ? DifferenceKind::extra
                                                   : DifferenceKind::different,
                       "");
  }
  return kinds;
}

std::vector<Content> read_contents(const Store& store, std::span<const Uuid> ids, const Digester& digester) {
  const shard::IdsByShard by_shard = shard::ids_by_shard(ids, store.shards.count());
  const auto shards = std::views::keys(by_shard);
  const std::vector<std::uint32_t> needed(shards.begin(), shards.end());
  std::vector<Content> contents(ids.size());
  const auto read = [&](std::uint32_t shard, std::span<const Uuid> some) {
    store.job.pace(shard, some.size());
    const auto turn = store.job.turn();
    auto rows = shard::read_shard(store.shards, shard, store.shards.deadline(), [&](const sql::Database& database) {
      return shard::read_entities_up_to(database, some, scan::small_body);
    });
    for (shard::EntityRow& row : rows) {
      const auto place = std::lower_bound(ids.begin(), ids.end(), row.id) - ids.begin();
      const auto whole = row.lacks_body() ? read_whole(store.shards, shard, row.id) : std::optional(std::move(row));
      contents[static_cast<std::size_t>(place)] = whole ? content_of(*whole, digester) : Content();
    }
  };
  in_store(store, [&] {
    shard::for_shards(store.shards, needed, [&](std::uint32_t shard) {
      shard::in_lists(
          by_shard.at(shard), [&](std::span<const Uuid> some) { read(shard, some); }, rows_at_once);
    });
  });
  return contents;
}

}  // namespace looseleaf::compare

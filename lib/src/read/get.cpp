// Reading entities by id.
#include "read/get.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/parsed_entity.hpp"
#include "shard/entity_rows.hpp"
#include "shard/placement.hpp"

namespace looseleaf::read {
namespace {

constexpr std::size_t ids_at_once = 500;
constexpr std::uint64_t small_body = 16 * 1024;  // bytes as stored; larger bodies are read one by one
constexpr std::size_t most_decoded = 1 << 20;    // bytes of decoded texts per group of shards

// The stored body of an entity, and its text once that is decoded.
struct Found {
  shard::EntityRow row;
  std::optional<std::string> text;
};

using Bodies = std::map<Uuid, Found>;
using shard::IdsByShard;

std::string decoded(const Uuid& id, const std::string& body, std::size_t max_size, const GetHooks& hooks) {
  std::string text = codec::decode_body(body, max_size);
  if (hooks.text) {
    hooks.text(id, text);
  }
  return text;
}

// Decodes bodies on the thread that has read them, as many as there is room for. Skips a body that cannot be decoded,
// or that the hook refuses: Batch::decode reports it.
void decode(Bodies& bodies, std::size_t& room, const GetHooks& hooks) {
  for (auto& [id, found] : bodies) {
    const std::size_t length = found.row.body ? codec::recorded_length(*found.row.body) : room + 1;
    if (length <= room) {
      try {
        found.text = decoded(id, *found.row.body, room, hooks);
        room -= length;
      } catch (const Error&) {
        continue;
      }
    }
  }
}

// One batch of ids.
class Batch {
 public:
  // `partial`: skips entities whose shard is down.
  Batch(shard::Shards& shards, Unavailable& unavailable, bool partial, const GetHooks& hooks, Stamps stamps)
      : shards_(shards), unavailable_(unavailable), partial_(partial), hooks_(hooks), stamps_(stamps) {}

  void read(std::span<const Uuid> ids) {
    IdsByShard by_shard = shard::ids_by_shard(ids, shards_.count());
    std::vector<std::uint32_t> needed;
    for (auto& [shard, wanted] : by_shard) {
      std::sort(wanted.begin(), wanted.end());
      wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
      bodies_[shard] = {};
      if (!unavailable_.record_miss(shard)) {
        needed.push_back(shard);
      }
    }
    const base::Deadline deadline = shards_.deadline(purpose());
    shard::for_groups(shards_, needed, [&](std::span<const std::uint32_t> group) {
      tolerate(group, [&] {
        for (shard::EntityRow& row : read_from(group, by_shard, small_body, deadline)) {
          bodies_.at(shard::shard_of(row.id, shards_.count())).emplace(row.id, Found{std::move(row), std::nullopt});
        }
      });
      std::size_t room = most_decoded;
      for (const std::uint32_t shard : group) {
        read::decode(bodies_.at(shard), room, hooks_);
      }
    });
  }

  // Returns nothing if the id is skipped. To be called once for each time that an id was asked for.
  std::optional<GetResult> result_of(const Uuid& id) {
    const std::uint32_t shard = shard::shard_of(id, shards_.count());
    GetResult result{id, {}, {}, {}};
    const auto found = bodies_.at(shard).find(id);
    if (found != bodies_.at(shard).end() && found->second.text) {
      result.entity = Entity{id, *found->second.text};
      result.stamp = stamp_of(found->second.row);
      return result;
    }
    if (found != bodies_.at(shard).end()) {
      std::optional<shard::EntityRow> large;  // kept no longer than this
      const shard::EntityRow* row = &found->second.row;
      if (row->lacks_body()) {
        tolerate({&shard, 1}, [&] { large = read_large(shard, id); });
        row = large ? &*large : nullptr;
      }
      if (row != nullptr) {
        decode(shard, *row, result);
        return result;
      }
    }
    result.error = unavailable_.record_miss(shard);
    return partial_ && result.error ? std::nullopt : std::optional(std::move(result));
  }

 private:
  // Reads the bodies of entities of these shards, which are on one server.
  std::vector<shard::EntityRow> read_from(std::span<const std::uint32_t> group, const IdsByShard& ids,
                                          std::uint64_t max_size, const base::Deadline& deadline) {
    return shard::with_group(shards_, group, deadline, purpose(), [&](shard::Lease& lease) {
      return shard::read_bodies(shards_, lease, group, ids, max_size, shard::Moved::refuse, stamps_);
    });
  }

  [[nodiscard]] shard::Purpose purpose() const {
    return partial_ ? shard::Purpose::fail_fast : shard::Purpose::general;
  }

  [[nodiscard]] std::string stamp_of(const shard::EntityRow& row) const {
    return stamps_ == Stamps::read ? base::to_string(row.updated) : std::string();
  }

  // Returns nothing if the entity was deleted meanwhile.
  std::optional<shard::EntityRow> read_large(std::uint32_t shard, const Uuid& id) {
    constexpr std::uint64_t longest_column = (1 << 24) - 1;  // whatever it holds
    auto rows = read_from({&shard, 1}, {{shard, {id}}}, longest_column, shards_.deadline(purpose()));
    return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
  }

  void decode(std::uint32_t shard, const shard::EntityRow& row, GetResult& result) const {
    try {
      shard::on_shard(shards_, shard, [&] {
        result.entity = Entity{result.id, decoded(result.id, *row.body, model::max_body_size, hooks_)};
      });
      result.stamp = stamp_of(row);
    } catch (Error& error) {
      result.error = error.with("id", to_string(result.id));
    }
  }

  // Lets results say which shards are down, and, unless they are skipped then, which one had a server error.
  template <typename Work>
  void tolerate(std::span<const std::uint32_t> group, Work&& work) {
    try {
      work();
    } catch (const Error& error) {
      if (group.size() > 1 && shard::may_be_one_shards(error)) {
        throw;  // for_groups() asks the shards one by one then
      }
      if (error.code() != ErrorCode::unavailable && (partial_ || error.code() != ErrorCode::server)) {
        throw;
      }
      for (const std::uint32_t shard : group) {
        unavailable_.add(shard, server::error_of_shard(shards_.cluster(), shard, error));
      }
    }
  }

  shard::Shards& shards_;
  Unavailable& unavailable_;
  const bool partial_;
  const GetHooks& hooks_;
  const Stamps stamps_;
  std::map<std::uint32_t, Bodies> bodies_;
};

}  // namespace

void Unavailable::add(std::uint32_t shard, const Error& error) {
  const std::lock_guard lock(mutex_);
  down_.emplace(shard, error);
  missed_.emplace(shard, error);
}

std::optional<Error> Unavailable::record_miss(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const auto found = down_.find(shard);
  if (found == down_.end()) {
    return std::nullopt;
  }
  missed_.emplace(shard, found->second);
  return found->second;
}

Unavailable::Shards Unavailable::missed() const {
  const std::lock_guard lock(mutex_);
  return missed_;
}

Unavailable::Shards Unavailable::down() const {
  const std::lock_guard lock(mutex_);
  return down_;
}

void require_entity(const Uuid& id, const std::string& text) {
  static_cast<void>(model::ParsedEntity(text, id));
}

void get_each(shard::Shards& shards, std::span<const Uuid> ids, const std::function<bool(GetResult)>& on_result,
              Unavailable& unavailable, Wanted wanted, const GetHooks& hooks, Stamps stamps) {
  for (std::size_t from = 0; from < ids.size(); from += ids_at_once) {
    const auto part = ids.subspan(from, std::min(ids_at_once, ids.size() - from));
    Batch batch(shards, unavailable, wanted == Wanted::part, hooks, stamps);
    batch.read(part);
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (hooks.skip && hooks.skip(from + i)) {
        continue;
      }
      auto result = batch.result_of(part[i]);
      if (result && !on_result(*std::move(result))) {
        return;
      }
    }
  }
}

}  // namespace looseleaf::read

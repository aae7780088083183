// Reading entities by id.
#include "read/get.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "shard/entity_rows.hpp"
#include "shard/placement.hpp"

namespace looseleaf::read {
namespace {

constexpr std::size_t ids_at_once = 500;
constexpr std::uint64_t small_body = 16 * 1024;  // bytes as stored; larger bodies are read one by one
constexpr std::size_t most_decoded = 1 << 20;    // bytes of decoded texts per shard

// The stored body of an entity, and its text once that is decoded.
struct Found {
  shard::EntityRow row;
  std::optional<std::string> text;
};

using Bodies = std::map<Uuid, Found>;

Bodies read(const sql::Database& database, std::span<const Uuid> ids, std::uint64_t max_size) {
  Bodies bodies;
  for (shard::EntityRow& row : shard::read_bodies(database, ids, max_size)) {
    bodies.emplace(row.id, Found{std::move(row), std::nullopt});
  }
  return bodies;
}

// Decodes bodies on the thread that has read them, as many as `most_decoded` allows. Skips a body that cannot be
// decoded: Batch::decode reports it.
void decode(Bodies& bodies, const GetHooks& hooks) {
  std::size_t room = most_decoded;
  for (auto& [id, found] : bodies) {
    const std::size_t length = found.row.body ? codec::recorded_length(*found.row.body) : room + 1;
    if (length <= room) {
      try {
        found.text = codec::decode_body(*found.row.body, room);
        room -= length;
      } catch (const Error&) {
        continue;
      }
      if (hooks.text) {
        hooks.text(id, *found.text);
      }
    }
  }
}

// One batch of ids.
class Batch {
 public:
  // `partial`: skips entities whose shard is down.
  Batch(shard::Shards& shards, Unavailable& unavailable, bool partial, const GetHooks& hooks)
      : shards_(shards), unavailable_(unavailable), partial_(partial), hooks_(hooks) {}

  void read(std::span<const Uuid> ids) {
    std::map<std::uint32_t, std::set<Uuid>> by_shard;
    for (const Uuid& id : ids) {
      by_shard[shard::shard_of(id, shards_.count())].insert(id);
    }
    std::vector<std::uint32_t> needed;
    for (const auto& [shard, wanted] : by_shard) {
      bodies_[shard] = {};
      if (!unavailable_.record_miss(shard)) {
        needed.push_back(shard);
      }
    }
    const base::Deadline deadline = shards_.deadline();
    shard::for_shards(shards_, needed, [&](std::uint32_t shard) {
      const std::set<Uuid>& wanted = by_shard.at(shard);
      Bodies& into = bodies_.at(shard);
      tolerate(shard,
               [&] { into = read_from(shard, std::vector<Uuid>(wanted.begin(), wanted.end()), small_body, deadline); });
      read::decode(into, hooks_);
    });
  }

  // Returns nothing if the id is skipped. To be called once for each time that an id was asked for.
  std::optional<GetResult> result_of(const Uuid& id) {
    const std::uint32_t shard = shard::shard_of(id, shards_.count());
    GetResult result{id, {}, {}};
    const auto found = bodies_.at(shard).find(id);
    if (found != bodies_.at(shard).end() && found->second.text) {
      result.entity = Entity{id, *found->second.text};
      return result;
    }
    if (found != bodies_.at(shard).end()) {
      std::optional<std::string> large;  // kept no longer than this
      const std::optional<std::string>* body = &found->second.row.body;
      if (found->second.row.lacks_body()) {
        tolerate(shard, [&] { large = read_large(shard, id); });
        body = &large;
      }
      if (*body) {
        decode(shard, **body, result);
        if (result.entity && hooks_.text) {
          hooks_.text(id, result.entity->json);
        }
        return result;
      }
    }
    result.error = unavailable_.record_miss(shard);
    return partial_ && result.error ? std::nullopt : std::optional(std::move(result));
  }

 private:
  Bodies read_from(std::uint32_t shard, std::span<const Uuid> ids, std::uint64_t max_size,
                   const base::Deadline& deadline) {
    return shard::with_shard(
        shards_, shard, deadline, [&](const sql::Database& database) { return read::read(database, ids, max_size); },
        partial_ ? shard::Purpose::fail_fast : shard::Purpose::general);
  }

  // Returns nothing if the entity was deleted meanwhile.
  std::optional<std::string> read_large(std::uint32_t shard, const Uuid& id) {
    Bodies one = read_from(shard, std::span(&id, 1), model::max_body_size, shards_.deadline());
    return one.empty() ? std::nullopt : std::move(one.begin()->second.row.body);
  }

  void decode(std::uint32_t shard, const std::string& body, GetResult& result) const {
    try {
      shard::on_shard(shards_, shard, [&] {
        result.entity = Entity{result.id, codec::decode_body(body, model::max_body_size)};
      });
    } catch (Error& error) {
      result.error = error.with("id", to_string(result.id));
    }
  }

  template <typename Work>
  void tolerate(std::uint32_t shard, Work&& work) {
    try {
      work();
    } catch (const Error& error) {
      const bool one_shards =
          error.code() == ErrorCode::unavailable || (!partial_ && error.code() == ErrorCode::server);
      if (!one_shards) {
        throw;
      }
      unavailable_.add(shard, error);
    }
  }

  shard::Shards& shards_;
  Unavailable& unavailable_;
  const bool partial_;
  const GetHooks& hooks_;
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

void get_each(shard::Shards& shards, std::span<const Uuid> ids, const std::function<bool(GetResult)>& on_result,
              Unavailable& unavailable, Wanted wanted, const GetHooks& hooks) {
  for (std::size_t from = 0; from < ids.size(); from += ids_at_once) {
    const auto part = ids.subspan(from, std::min(ids_at_once, ids.size() - from));
    Batch batch(shards, unavailable, wanted == Wanted::part, hooks);
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

// One entity at a time. A named lock lets contending updates wait for one another before they read; without it, most of
// what they compute would be in vain. The stamps alone keep the result correct.
#include "update/update.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "job/jobs.hpp"
#include "model/entity.hpp"
#include "model/key.hpp"
#include "read/get.hpp"
#include "shard/placement.hpp"
#include "sql/retry.hpp"
#include "update/versions.hpp"
#include "write/encode.hpp"

namespace looseleaf::update {
namespace {

// A job of this process may have all sessions of this kind, and have them for hours.
constexpr std::chrono::milliseconds longest_wait_for_a_session(500);

constexpr int fewest_tries = 5;  // however long each of them takes

// The place in the queue of those that update an entity. If the lock cannot be had, its owner goes on without it.
class Turn {
 public:
  Turn(shard::Shards& shards, const Uuid& id)
      : name_(fmt::format("looseleaf.update.{}", to_string(id))), shard_(shard::shard_of(id, shards.count())) {
    const base::Deadline deadline = shards.deadline();
    try {
      lease_.emplace(shards.sessions().connect_if_free(shard_, shard::Purpose::pinned, longest_wait_for_a_session));
      (*lease_)->execute("SET SESSION wait_timeout = 600");  // while the caller computes
      while (!job::get_named_lock(**lease_, name_, deadline) && !deadline.passed()) {
      }
    } catch (const Error&) {
      end_session();
    }
  }
  ~Turn() {
    try {
      if (lease_) {
        static_cast<void>((*lease_)->query(fmt::format("SELECT RELEASE_LOCK('{}')", name_)));
      }
    } catch (const std::exception&) {  // the lock ends with the session
    }
    end_session();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  // The session may hold the lock or still get it, so it is not used again.
  void end_session() {
    if (lease_) {
      lease_->discard();
      lease_.reset();
    }
  }

  const std::string name_;
  const std::uint32_t shard_;
  std::optional<shard::Lease> lease_;
};

// Reads the new text. Throws Error(bad_entity).
std::string accept(const Uuid& id, const Key& key, const std::string& text) {
  if (base::trimmed(text).empty()) {
    throw Error(ErrorCode::bad_entity, "there is no new text for the entity", {},
                "give the whole entity; delete it with `looseleaf delete`");
  }
  model::AcceptedEntity entity = model::accept_entity(text);
  if (entity.id_was_made || entity.id != id) {
    throw Error(ErrorCode::bad_entity, "the new text has another id",
                {{"new_id", entity.id_was_made ? "none" : to_string(entity.id)}}, "keep the entity's id");
  }
  if (!key.empty() && model::id_of_key(key, entity.parsed, {}) != id) {
    throw Error(ErrorCode::bad_entity, "the new text has another key", {},
                "keep the values of the key; to change them, name the entity by its id");
  }
  return std::move(entity.text);
}

WriteResult with_error(WriteStatus status, const Error& error) {
  WriteResult result;
  result.status = status;
  result.error = error;
  return result;
}

// Makes and stores a new text of this version. The result has the status `changed` if the version is not the last one.
WriteResult store_next(shard::Shards& shards, write::Writer& writer, const GetResult& version,
                       const std::function<std::string(const std::string& text)>& change, const Key& key) {
  const std::string given = change(version.entity->json);
  std::string text;
  try {
    text = accept(version.id, key, given);
  } catch (const Error& error) {
    WriteResult rejected = with_error(WriteStatus::rejected, error);
    rejected.text = given;
    return rejected;
  }
  if (text == version.entity->json) {
    const std::uint32_t shard = shard::shard_of(version.id, shards.count());
    WriteResult result;
    result.status = make_durable(shards, shard, {{version.id, version.stamp}}).empty() ? WriteStatus::unchanged
                                                                                       : WriteStatus::changed;
    return result;
  }
  return write::put_one(shards, writer, text, write::to_condition({WriteCondition::Kind::unchanged, version.stamp}),
                        {});
}

}  // namespace

WriteResult update(shard::Shards& shards, write::Writer& writer, const Uuid& id,
                   const std::function<std::string(const std::string& text)>& change, const Key& key) {
  shards.prepare_put();
  const Turn turn(shards, id);
  const base::Deadline deadline = shards.deadline();
  sql::Backoff backoff;
  WriteResult result;
  int tries = 0;
  do {
    const GetResult read = read_version(shards, id);
    if (read.error) {
      result = with_error(WriteStatus::failed, *read.error);
    } else if (!read.entity) {
      result.status = WriteStatus::not_found;
    } else {
      result = store_next(shards, writer, read, change, key);
    }
    if (result.status == WriteStatus::changed && ++tries >= fewest_tries && deadline.passed()) {
      result = with_error(WriteStatus::failed,
                          Error(ErrorCode::unavailable, "the entity changed each time before its new text was stored",
                                {{"id", to_string(id)}, {"tries", std::to_string(tries)}},
                                "retry when it changes less often, or make the change take less time"));
    } else if (result.status == WriteStatus::changed) {
      backoff.wait(shards.deadline());
    }
  } while (result.status == WriteStatus::changed);
  result.id = id;
  return result;
}

}  // namespace looseleaf::update

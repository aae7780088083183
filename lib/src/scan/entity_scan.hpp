// Reads all entities of one shard in the order in which they were added.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <string>
#include <vector>

#include "job/job.hpp"
#include "model/stored_entity.hpp"
#include "shard/entity_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::scan {

// Bodies larger than this are read one by one, so that a chunk of them takes bounded memory.
inline constexpr std::uint64_t small_body = 32 << 10;

// A stored entity as it was found. Without `problem` its body was read, or it is a tombstone, and `entity` is absent.
struct FoundEntity {
  std::optional<model::StoredEntity> entity;
  std::optional<Finding> problem;  // unreadable, wrong_id or wrong_shard
};

// What the bytes say; `body` absent: a tombstone. `shard`: where it was found. With wrong_id there is an entity too.
[[nodiscard]] FoundEntity judge_entity(std::uint32_t shards, std::uint32_t shard, const Uuid& id,
                                       const std::optional<std::string>& body);

// The body of one entity, by a plain read; absent if it has none now.
[[nodiscard]] std::optional<std::string> read_body(shard::Shards& shards, std::uint32_t shard, const Uuid& id);

class EntityScan {
 public:
  using OnEntity = std::function<void(const Uuid&, const model::StoredEntity&)>;

  // The job holds the scan back and counts its entities.
  EntityScan(shard::Shards& shards, std::uint32_t shard, job::Job& job) : shards_(shards), shard_(shard), job_(job) {}

  // Calls `on_entity` with each readable entity that is on the right shard, and `on_problem` with each other one that
  // under its lock still is one.
  void run(const OnEntity& on_entity, const std::function<void(const Finding&)>& on_problem);

  [[nodiscard]] std::uint64_t entities() const { return entities_; }

 private:
  // Those whose added_id is one of the next `chunk` ones that may be in use; absent at the end.
  [[nodiscard]] std::optional<std::vector<shard::EntityBody>> read_chunk(std::size_t chunk);
  void judge(std::vector<shard::EntityBody>& rows, const OnEntity& on_entity,
             const std::function<void(const Finding&)>& on_problem);
  [[nodiscard]] std::vector<Finding> confirm(const std::vector<Uuid>& ids);

  shard::Shards& shards_;
  const std::uint32_t shard_;
  job::Job& job_;
  std::uint64_t position_ = 0;  // all with an added_id up to this were read
  std::uint64_t entities_ = 0;
};

}  // namespace looseleaf::scan

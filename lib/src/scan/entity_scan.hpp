// Reads all entities of one shard in the order in which they were added, up to the last one that exists when the scan
// begins. With a limited rate it might never reach the end of a table that grows meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <optional>
#include <string>
#include <vector>

#include "job/job.hpp"
#include "model/parsed_entity.hpp"
#include "shard/entity_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::scan {

// Larger bodies are read one by one, so that a chunk takes bounded memory.
inline constexpr std::uint64_t small_body = 32 << 10;

// A stored entity. If `problem` is not set, `entity` is its content, or absent for a tombstone.
struct FoundEntity {
  std::optional<model::ParsedEntity> entity;
  std::optional<Finding> problem;  // unreadable, wrong_id or wrong_shard
};

// Decodes and checks a stored body. An absent `body` is a tombstone. `shard` is the shard that has the entity. With
// wrong_id, `entity` is set too.
[[nodiscard]] FoundEntity judge_entity(std::uint32_t shards, std::uint32_t shard, const Uuid& id,
                                       const std::optional<std::string>& body);

// Returns the body of one entity, read without a lock; absent if it has none now.
[[nodiscard]] std::optional<std::string> read_body(shard::Shards& shards, std::uint32_t shard, const Uuid& id);

class EntityScan {
 public:
  using OnEntity = std::function<void(const Uuid&, const model::ParsedEntity&)>;
  using OnRow = std::function<void(const shard::EntityRow&)>;

  // The job holds the scan back and counts its entities; the caller says how many it expects.
  EntityScan(shard::Shards& shards, std::uint32_t shard, job::Job& job) : shards_(shards), shard_(shard), job_(job) {}

  // Calls `on_entity` for each readable entity on the right shard. Calls `on_problem` for each other one, if it still
  // has the problem under its lock.
  void run(const OnEntity& on_entity, const std::function<void(const Finding&)>& on_problem);
  // Calls `on_row` for each row, tombstones included, with its id and its body as stored, which nothing has checked.
  void read_rows(const OnRow& on_row);

  // Returns the number of entities read, including tombstones.
  [[nodiscard]] std::uint64_t entities() const { return entities_; }
  [[nodiscard]] std::uint64_t deleted() const { return deleted_; }

 private:
  void each_chunk(const std::function<void(std::vector<shard::EntityRow>&)>& work);
  void complete(shard::EntityRow& row);
  // Reads entities with the next `chunk` values of added_id; absent at the end.
  [[nodiscard]] std::optional<std::vector<shard::EntityRow>> read_chunk(std::size_t chunk);
  void judge(std::vector<shard::EntityRow>& rows, const OnEntity& on_entity,
             const std::function<void(const Finding&)>& on_problem);
  [[nodiscard]] std::vector<Finding> confirm(const std::vector<Uuid>& ids);

  shard::Shards& shards_;
  const std::uint32_t shard_;
  job::Job& job_;
  std::uint64_t position_ = 0;          // all entities with an added_id up to this one were read
  std::optional<std::uint64_t> until_;  // the last added_id when the scan began
  std::uint64_t entities_ = 0, deleted_ = 0;
};

}  // namespace looseleaf::scan

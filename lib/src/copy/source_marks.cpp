// A row of looseleaf_progress on each shard, which `clean` reads.
#include "copy/source_marks.hpp"

#include <atomic>
#include <vector>

#include "job/jobs.hpp"

namespace looseleaf::copy {

void write_marks(shard::Shards& original, const Uuid& other, const Positions& positions) {
  std::vector<std::uint32_t> some;
  for (const auto& [shard, position] : positions) {
    some.push_back(shard);
  }
  shard::for_shards(original, some, [&](std::uint32_t shard) {
    shard::with_shard(original, shard, original.deadline(), [&](const sql::Database& database) {
      job::JobRow row;
      row.job = job::copied_to_job;
      row.table = to_string(other);
      row.barrier = positions.at(shard).place.updated;
      row.detail = positions.at(shard).scan ? job::copy_scans : "";
      row.holder = job::this_process();
      job::write_job(database, row);
    });
  });
}

bool remove_marks(shard::Shards& original, const Uuid& other) {
  std::atomic<bool> found = false;
  shard::for_each_shard(original, [&](std::uint32_t shard) {
    shard::with_shard(original, shard, original.deadline(), [&](const sql::Database& database) {
      found = found || job::read_job(database, job::copied_to_job, to_string(other));
      job::remove_job(database, job::copied_to_job, to_string(other), 0);
    });
  });
  return found;
}

}  // namespace looseleaf::copy

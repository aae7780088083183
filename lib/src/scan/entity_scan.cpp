// Reads all entities of one shard in the order in which they were added.
#include "scan/entity_scan.hpp"

#include <algorithm>
#include <chrono>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "shard/placement.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::scan {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

FoundEntity judge_entity(std::uint32_t shards, std::uint32_t shard, const Uuid& id,
                         const std::optional<std::string>& body) {
  FoundEntity found;
  const auto problem = [&](FindingKind kind, const std::string& what) {
    found.problem = Finding{kind, {}, shard, id, what};
  };
  const std::uint32_t home = shard::shard_of(id, shards);
  if (home != shard) {
    problem(FindingKind::wrong_shard, "belongs on shard " + std::to_string(home));
    return found;
  }
  if (!body) {
    return found;
  }
  try {
    found.entity.emplace(codec::decode_body(*body, model::max_body_size));
    if (found.entity->id() != id) {
      problem(FindingKind::wrong_id, "its body has another id");
    }
  } catch (const Error& error) {
    problem(FindingKind::unreadable, error.what());
  }
  return found;
}

std::optional<std::string> read_body(shard::Shards& shards, std::uint32_t shard, const Uuid& id) {
  return shard::read_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
    auto row = shard::read_entity(database, id, shard::Lock::none);
    return row ? std::move(row->body) : std::nullopt;
  });
}

void EntityScan::run(const OnEntity& on_entity, const std::function<void(const Finding&)>& on_problem) {
  each_chunk([&](std::vector<shard::EntityRow>& rows) { judge(rows, on_entity, on_problem); });
}

void EntityScan::read_rows(const OnRow& on_row) {
  each_chunk([&](std::vector<shard::EntityRow>& rows) {
    for (shard::EntityRow& row : rows) {
      complete(row);
      on_row(row);
      row.body.reset();
    }
  });
}

void EntityScan::each_chunk(const std::function<void(std::vector<shard::EntityRow>&)>& work) {
  std::size_t chunk = job::smallest_chunk, got = 0;
  while (true) {
    job_.pace(shard_, got);
    const auto turn = job_.turn();
    const auto start = Clock::now();
    auto rows = read_chunk(job_.limit_chunk(chunk));
    if (!rows) {
      return;
    }
    got = rows->size();
    work(*rows);
    entities_ += got;
    chunk = job::next_chunk(chunk, Clock::now() - start);
    job_.progress().advance(shard_, got);
  }
}

// Reads a body that the chunk's statement has left out.
void EntityScan::complete(shard::EntityRow& row) {
  if (row.lacks_body()) {
    row.body = read_body(shards_, shard_, row.id);
  }
  deleted_ += row.body ? 0 : 1;
}

void EntityScan::judge(std::vector<shard::EntityRow>& rows, const OnEntity& on_entity,
                       const std::function<void(const Finding&)>& on_problem) {
  std::vector<Uuid> problems;
  for (shard::EntityRow& row : rows) {
    complete(row);
    const FoundEntity found = judge_entity(shards_.count(), shard_, row.id, row.body);
    row.body.reset();
    if (found.problem) {
      problems.push_back(row.id);
    }
    if (found.entity) {
      on_entity(row.id, *found.entity);
    }
  }
  for (const Finding& finding : confirm(problems)) {
    on_problem(finding);
  }
}

std::optional<std::vector<shard::EntityRow>> EntityScan::read_chunk(std::size_t chunk) {
  struct Chunk {
    std::uint64_t end;
    std::uint64_t until;  // where the scan ends; of use only if this read counts
    std::vector<shard::EntityRow> rows;
  };
  auto read = shard::read_shard(shards_, shard_, shards_.deadline(),
                                [&](const sql::Database& database) -> std::optional<Chunk> {
                                  const std::uint64_t until = until_ ? *until_ : shard::last_added(database);
                                  const auto read_above = [&](std::uint64_t above) {
                                    const std::uint64_t end = std::min(above + chunk, until);
                                    return Chunk{end, until, shard::read_added(database, above, end, small_body)};
                                  };
                                  if (position_ >= until) {
                                    return std::nullopt;
                                  }
                                  Chunk found = read_above(position_);
                                  if (found.rows.empty() && found.end < until) {
                                    const auto next = shard::next_added(database, position_);
                                    return next && *next <= until ? std::optional(read_above(*next - 1)) : std::nullopt;
                                  }
                                  return found;
                                });
  if (!read) {
    return std::nullopt;
  }
  position_ = read->end;
  until_ = read->until;
  return std::move(read->rows);
}

std::vector<Finding> EntityScan::confirm(const std::vector<Uuid>& ids) {
  constexpr std::size_t at_once = 50;  // bodies may be large
  std::vector<Finding> findings;
  for (std::size_t from = 0; from < ids.size(); from += at_once) {
    const std::span part = std::span(ids).subspan(from, std::min(at_once, ids.size() - from));
    const auto rows = shard::read_shard(shards_, shard_, shards_.deadline(), [&](const sql::Database& database) {
      sql::Transaction transaction(database);
      auto locked = shard::read_entities(database, part, shard::Lock::shared);
      transaction.roll_back();
      return locked;
    });
    for (const shard::EntityRow& row : rows) {
      if (auto found = judge_entity(shards_.count(), shard_, row.id, row.body); found.problem) {
        findings.push_back(*std::move(found.problem));
      }
    }
  }
  return findings;
}

}  // namespace looseleaf::scan

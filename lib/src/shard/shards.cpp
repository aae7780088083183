// The shards of one cluster.
#include "shard/shards.hpp"

#include <functional>
#include <vector>

#include "base/parallel.hpp"

namespace looseleaf::shard {

Shards::Shards(Cluster cluster, Options options)
    : cluster_(std::move(cluster)),
      options_(std::move(options)),
      warnings_(options_.on_warning),
      identity_(cluster_),
      catalogs_(count()),
      sessions_(
          cluster_, options_, warnings_,
          [this](std::uint32_t shard) { return head_query(cluster_.shards[shard].database); },
          [this](std::uint32_t shard, const sql::NamedTexts& first_rows) {
            const auto head = parse_head(first_rows);
            if (!head) {
              identity_.refuse_uninitialised(shard, sessions_.connector());
            }
            identity_.check(shard, *head);
            catalogs_.offer(shard, *head);
          },
          [this](std::uint32_t shard) { identity_.refuse_uninitialised(shard, sessions_.connector()); }) {}

void Shards::check_identities(Known known) {
  for_each_shard(*this, [&](std::uint32_t shard) {
    const bool was_cached = catalogs_.cached(shard) != nullptr;
    if (known == Known::trust && was_cached) {
      return;
    }
    const auto started = std::chrono::steady_clock::now();
    try {
      const Lease lease = sessions_.connect_once(shard);
      if (was_cached || !catalogs_.cached(shard)) {  // else a new session has just read it
        on_shard(*this, shard, [&] { catalogs_.reload(shard, *lease); });
      }
    } catch (const sql::ServerError& error) {
      if (!error.retryable() && error.error_class() != sql::ErrorClass::unreachable) {
        throw;
      }
      sessions_.note_failure(shard, started, error);
    }
  });
}

void for_each_shard(const Shards& shards, const std::function<void(std::uint32_t)>& work) {
  std::vector<std::function<void()>> tasks;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    tasks.emplace_back([&work, shard] { work(shard); });
  }
  base::run_all(tasks);
}

std::shared_ptr<const Catalog> Shards::catalog(std::uint32_t shard, const base::Deadline& deadline) {
  if (auto catalog = catalogs_.cached(shard)) {
    return catalog;
  }
  return with_shard(*this, shard, deadline, [&](const sql::Database& database) {
    auto catalog = catalogs_.cached(shard);  // a new session has read it
    return catalog ? catalog : catalogs_.reload(shard, database);
  });
}

}  // namespace looseleaf::shard

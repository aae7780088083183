// The shards of one cluster.
#include "shard/shards.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <numeric>
#include <set>

#include "base/parallel.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::uint32_t few_servers = 8;

}  // namespace

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
              identity_.refuse_uninitialised(shard, sessions_);
            }
            identity_.check(shard, *head);
            catalogs_.offer(shard, *head);
          },
          [this](std::uint32_t shard) { identity_.refuse_uninitialised(shard, sessions_); }) {}

void Shards::prepare_put() {
  for (std::uint32_t shard = 0; shard < count(); ++shard) {
    if (!catalogs_.cached(shard)) {
      base::run_all({[this] { check_identities(Known::trust); }, [this] { open_ahead(Purpose::index_writes); }});
      return;
    }
  }
}

void Shards::open_ahead(Purpose purpose) {
  std::set<std::uint32_t> all;
  for (std::uint32_t shard = 0; shard < count(); ++shard) {
    all.insert(shard);
  }
  if (sessions_.connector().servers() <= few_servers) {
    sessions_.open_ahead(all, purpose);
  }
}

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

void for_shards(Shards& shards, const std::vector<std::uint32_t>& some,
                const std::function<void(std::uint32_t)>& work) {
  struct OnServer {
    std::vector<std::size_t> positions;  // in `some`
    std::atomic<std::size_t> next = 0;
  };
  std::map<std::uint32_t, OnServer> servers;
  for (std::size_t i = 0; i < some.size(); ++i) {
    servers[shards.sessions().connector().server_of(some[i])].positions.push_back(i);
  }
  std::vector<std::exception_ptr> errors(some.size());
  std::vector<std::function<void()>> workers;
  for (auto& [number, server] : servers) {
    const std::size_t at_once = std::min(server.positions.size(), shards.sessions().limit_of(Purpose::general));
    for (std::size_t i = 0; i < at_once; ++i) {
      workers.emplace_back([&, &server = server] {
        for (std::size_t next = server.next++; next < server.positions.size(); next = server.next++) {
          const std::size_t position = server.positions[next];
          try {
            work(some[position]);
          } catch (...) {
            errors[position] = std::current_exception();
          }
        }
      });
    }
  }
  base::run_all(workers);
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

void for_each_shard(Shards& shards, const std::function<void(std::uint32_t)>& work) {
  std::vector<std::uint32_t> all(shards.count());
  std::iota(all.begin(), all.end(), 0);
  for_shards(shards, all, work);
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

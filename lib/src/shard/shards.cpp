// The shards of one cluster.
#include "shard/shards.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>

#include "base/parallel.hpp"
#include "config/limits.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::uint32_t few_servers = 8;

}  // namespace

Shards::Shards(Cluster cluster, Options options)
    : cluster_(config::checked(std::move(cluster))),
      options_(config::checked(std::move(options))),
      warnings_(options_.on_warning),
      identity_(cluster_),
      catalogs_(count(), [this](std::uint32_t shard, const Head& head) { identity_.check(shard, head); }),
      sessions_(
          cluster_, options_, warnings_,
          [this](std::span<const std::uint32_t> shards) { return head_query_of(shards); },
          [this](std::span<const std::uint32_t> shards, const sql::NamedTexts& first_rows) {
            accept_heads(shards, first_rows);
          },
          [this](std::uint32_t shard) { identity_.refuse_uninitialised(shard, sessions_); }) {}

std::unique_ptr<Shards> Shards::beside(Shards& original) {
  Options options = original.options_;
  options.on_warning = [&original](const Warning& warning) { original.warnings().give(warning); };
  auto other = std::make_unique<Shards>(original.cluster_, std::move(options));
  other->sessions_.connector().share_passwords(original.sessions_.connector());
  return other;
}

std::string Shards::head_query_of(std::span<const std::uint32_t> shards) const {
  std::vector<NumberedDatabase> databases;
  for (const std::uint32_t shard : shards) {
    databases.push_back({shard, cluster_.shards[shard].database});
  }
  return head_query(databases);
}

void Shards::accept_heads(std::span<const std::uint32_t> shards, const sql::NamedTexts& rows) {
  const std::map<std::uint32_t, Head> heads = parse_heads(rows);
  for (const std::uint32_t shard : shards) {
    server::on_shard(cluster_, shard, [&] {
      const auto head = heads.find(shard);
      if (head == heads.end()) {
        identity_.refuse_uninitialised(shard, sessions_);
      }
      identity_.check(shard, head->second);
      catalogs_.offer(shard, head->second);
    });
  }
}

void Shards::require_shard(std::uint32_t shard) const {
  if (shard >= count()) {
    throw Error(ErrorCode::usage, "there is no such shard", {{"shard", std::to_string(shard)}},
                "the first shard is 0, the last one " + std::to_string(count() - 1));
  }
}

Uuid Shards::cluster_id() {
  if (!identity_.cluster_id()) {
    check_identities();
  }
  if (!identity_.cluster_id()) {  // no shard could be reached
    static_cast<void>(connect(0, deadline()));
  }
  return identity_.cluster_id().value();
}

std::vector<std::uint32_t> Shards::uncached(std::span<const std::uint32_t> shards) const {
  std::vector<std::uint32_t> found;
  std::copy_if(shards.begin(), shards.end(), std::back_inserter(found),
               [&](std::uint32_t shard) { return !catalogs_.cached(shard); });
  return found;
}

void Shards::prepare_put() {
  if (is_prepared_) {
    return;
  }
  if (!uncached(all_shards(*this)).empty()) {
    base::run_all({[this] { check_identities(Known::trust); }, [this] { open_ahead(Purpose::index_writes); }});
  }
  is_prepared_ = true;
}

void Shards::open_ahead(Purpose purpose) {
  if (sessions_.connector().servers() <= few_servers) {
    const auto all = all_shards(*this);
    sessions_.open_ahead({all.begin(), all.end()}, purpose);
  }
}

void Shards::check_identities(Known known) {
  if (known == Known::check_again) {
    catalogs_.forget();
  }
  std::vector<std::uint32_t> wanted = uncached(all_shards(*this));
  if (known == Known::trust) {  // a server that fails is not waited for unless it is needed
    std::erase_if(wanted, [this](std::uint32_t shard) { return sessions_.is_failing(shard); });
  }
  std::mutex mutex;
  std::exception_ptr refused;
  for_groups(*this, wanted, [&](std::span<const std::uint32_t> group) {
    const auto started = std::chrono::steady_clock::now();
    try {
      Lease lease =
          known == Known::trust ? sessions_.connect_soon(group.front()) : sessions_.connect_once(group.front());
      lease.check(group);
      if (const auto again = uncached(group); !again.empty()) {  // the session has checked them before
        accept_heads(again, sql::to_named_texts(lease->query(head_query_of(again))));
      }
      for (const std::uint32_t shard : uncached(group)) {  // throws, because its catalog could not be read
        on_shard(*this, shard, [&] { catalogs_.reload(shard, lease.on(shard)); });
      }
    } catch (const Error& error) {
      const auto* const of_server = dynamic_cast<const sql::ServerError*>(&error);
      const auto waited = std::chrono::steady_clock::now() - started;
      if (known == Known::trust && waited >= server::Sessions::soon * 9 / 10 &&
          (of_server || error.code() == ErrorCode::unavailable)) {
        return;  // it may only be slow, or its connections in use
      }
      if (!of_server) {
        throw;
      }
      if (of_server->retryable() || of_server->error_class() == sql::ErrorClass::unreachable) {
        sessions_.note_failure(group.front(), started, *of_server);
      } else if (known == Known::check_again) {
        throw;
      } else {
        const std::lock_guard lock(mutex);
        refused = std::current_exception();
      }
    }
  });
  if (refused && uncached(all_shards(*this)).size() == count()) {  // nothing will work
    std::rethrow_exception(refused);
  }
}

namespace {

using Group = std::span<const std::uint32_t>;

bool is_one_shards(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return may_be_one_shards(error);
  } catch (...) {
    return false;
  }
}

std::exception_ptr failure_of(const std::function<void(Group)>& work, Group group) {
  try {
    work(group);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// Runs `work` for the shards of a group. Adds failures, each with its first shard.
void run_for(const std::function<void(Group)>& work, Group group,
             std::map<std::uint32_t, std::exception_ptr>& failures) {
  const std::exception_ptr failure = failure_of(work, group);
  if (failure && group.size() > 1 && is_one_shards(failure)) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      run_for(work, group.subspan(i, 1), failures);
    }
  } else if (failure) {
    failures.emplace(group.front(), failure);
  }
}

}  // namespace

bool may_be_one_shards(const Error& error) {
  if (const auto* const server = dynamic_cast<const sql::ServerError*>(&error)) {
    switch (server->error_class()) {
      case sql::ErrorClass::not_connected:
      case sql::ErrorClass::unreachable:
      case sql::ErrorClass::connection_lost:
      case sql::ErrorClass::failing_over:
        return false;
      case sql::ErrorClass::conflict:
      case sql::ErrorClass::statement_killed:
      case sql::ErrorClass::duplicate_key:
      case sql::ErrorClass::table_gone:
      case sql::ErrorClass::too_large:
        return true;
      case sql::ErrorClass::permanent:
        return !server->refuses_login();
    }
  }
  return error.code() != ErrorCode::unavailable && error.code() != ErrorCode::interrupted;
}

std::vector<std::uint32_t> all_shards(const Shards& shards) {
  std::vector<std::uint32_t> all(shards.count());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<std::vector<std::uint32_t>> shards_by_server(const Shards& shards) {
  return shards.sessions().connector().by_server(all_shards(shards));
}

void for_groups(Shards& shards, std::span<const std::uint32_t> some, const std::function<void(Group)>& work,
                std::size_t largest) {
  const std::vector<std::vector<std::uint32_t>> servers = shards.sessions().connector().by_server(some);
  std::vector<std::atomic<std::size_t>> next(servers.size());
  std::mutex mutex;
  std::map<std::uint32_t, std::exception_ptr> failures;  // by shard
  std::vector<std::function<void()>> workers;
  for (std::size_t server = 0; server < servers.size(); ++server) {
    const Group here(servers[server]);
    const std::size_t groups = (here.size() + largest - 1) / largest;
    for (std::size_t i = 0; i < std::min(groups, shards.sessions().limit_of(Purpose::general)); ++i) {
      workers.emplace_back([&, here, server] {
        for (std::size_t at = next[server]++ * largest; at < here.size(); at = next[server]++ * largest) {
          std::map<std::uint32_t, std::exception_ptr> failed;
          run_for(work, here.subspan(at, std::min(largest, here.size() - at)), failed);
          const std::lock_guard lock(mutex);
          failures.merge(failed);
        }
      });
    }
  }
  base::run_all(workers);
  if (!failures.empty()) {
    std::rethrow_exception(failures.begin()->second);
  }
}

void for_shards(Shards& shards, std::span<const std::uint32_t> some, const std::function<void(std::uint32_t)>& work) {
  for_groups(
      shards, some, [&](Group one) { work(one.front()); }, 1);
}

void for_each_shard(Shards& shards, const std::function<void(std::uint32_t)>& work) {
  for_shards(shards, all_shards(shards), work);
}

void require_every_shard(Shards& shards, const std::string& what) {
  // A server counts a session for a moment after its end, so there is one for many shards.
  for_groups(shards, all_shards(shards), [&](std::span<const std::uint32_t> group) {
    try {
      Lease lease = shards.connect(group.front(), shards.deadline(), Purpose::fail_fast);
      lease.check(group);
      lease.discard();
    } catch (const sql::ServerError& error) {
      if (error.code() != ErrorCode::unavailable) {
        throw;
      }
      Error::Context context = {{"reason", error.what()}};
      context.insert(context.end(), error.context().begin(), error.context().end());
      throw sql::ServerError(error.error_class(), error.number(), error.code(), what, std::move(context), error.hint());
    }
  });
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

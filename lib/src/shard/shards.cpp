// Connection pools, identity checks and catalog caches of a cluster's shards.
#include "shard/shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/parallel.hpp"
#include "config/option_files.hpp"
#include "shard/schema.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::size_t max_idle = 8;  // connections kept for each shard
constexpr int er_access_denied = 1045;
constexpr int er_bad_db = 1049;

// A lock wait ends after 2 s; what takes longer than this is a server that hangs.
constexpr auto longest_index_write = std::chrono::milliseconds(3500);
constexpr std::chrono::milliseconds shortest_patience = std::chrono::seconds(3);
constexpr auto retry_dead_after = std::chrono::seconds(5);

// A failover or a restart may pass in silence; whoever waits for longer is told.
constexpr auto longest_silent_wait = std::chrono::seconds(2);

// Well below the session's wait_timeout of 30 s: the server has not closed it.
constexpr auto max_idle_time = std::chrono::seconds(20);

// As the user gave it: "--timeout (30 s)".
std::string name_of(std::chrono::milliseconds timeout) {
  return fmt::format("--timeout ({:.15g} s)", static_cast<double>(timeout.count()) / 1000.0);
}

sql::ServerError with_class(sql::ErrorClass error_class, const sql::ServerError& error) {
  return {error_class, error.number(), error.code(), error.what(), error.context(), error.hint()};
}

// What is thrown when nothing is left of the time-out.
sql::ServerError after_timeout(sql::ServerError error, std::chrono::milliseconds timeout) {
  const std::string advice = error.hint().empty() ? "" : error.hint() + "; ";
  error.with_hint(fmt::format("{}retried until {} expired", advice, name_of(timeout)));
  return error;
}

}  // namespace

Error other_shard_count(std::uint64_t in_store, std::uint32_t in_file) {
  return {ErrorCode::wrong_cluster,
          "cluster file and cluster have different numbers of shards",
          {{"expected", fmt::format("{} shards", in_store)}, {"found", fmt::format("{} in the cluster file", in_file)}},
          fmt::format("{}; a store's number of shards never changes, and nothing was read or written",
                      in_file > in_store ? "delete from the cluster file the shards that are not in this store"
                                         : "add the missing shards to the cluster file, each at its place")};
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    give_back();
    owner_ = other.owner_;
    shard_ = other.shard_;
    purpose_ = other.purpose_;
    connection_ = std::move(other.connection_);
    keep_ = other.keep_;
    age_ = other.age_;
  }
  return *this;
}

Lease::~Lease() {
  give_back();
}

void Lease::give_back() noexcept {
  if (!connection_) {
    return;
  }
  try {
    if (connection_->broken()) {
      owner_->fails(shard_, std::chrono::steady_clock::now());
      owner_->drop_others(shard_);
    } else if (keep_) {
      owner_->give_back(shard_, purpose_, std::move(connection_), age_);
    }
  } catch (...) {
    connection_.reset();  // no memory for the pool: the connection is closed instead
  }
  connection_.reset();
}

Shards::Shards(Cluster cluster, Options options)
    : cluster_(std::move(cluster)),
      options_(std::move(options)),
      pools_(cluster_.shards.size()),
      cluster_id_(cluster_.cluster_id) {
  // Files that are read for every connection: what is wrong with them is said once, and not as of one shard.
  std::set<std::string> groups;
  for (const ShardConfig& shard : cluster_.shards) {
    if (groups.insert(shard.option_group).second) {
      static_cast<void>(connect_options(shard));
    }
  }
}

Shards::~Shards() = default;

Error::Context Shards::where(std::uint32_t shard) const {
  const ShardConfig& config = cluster_.shards.at(shard);
  return {{"shard", fmt::format("{}", shard)}, {"server", to_string(config.address)}, {"database", config.database}};
}

Lease Shards::connect(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose) {
  return until_it_answers(shard, deadline, purpose,
                          [&](std::chrono::milliseconds left) { return connect_once(shard, purpose, left); });
}

template <typename Try>
auto Shards::until_it_answers(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose, Try&& attempt)
    -> decltype(attempt(std::chrono::milliseconds())) {
  sql::Backoff backoff;
  while (true) {
    if (purpose != Purpose::brief) {
      warn_of_wait(shard);
    }
    const auto begin = std::chrono::steady_clock::now();
    try {
      return attempt(std::min(deadline.left(), time_left_for(shard, purpose)));
    } catch (const sql::ServerError& error) {
      if (!error.retryable()) {
        throw;
      }
      failed(shard, error, begin);
      if (purpose == Purpose::brief && has_failed_for(shard, patience(purpose))) {
        throw with_class(sql::ErrorClass::unreachable, error);
      }
      if (deadline.passed()) {
        throw after_timeout(error, options_.timeout);
      }
    }
    backoff.wait(deadline);
  }
}

// Throws once the shard is to be waited for no longer.
void Shards::failed(std::uint32_t shard, const sql::ServerError& error, std::chrono::steady_clock::time_point begin) {
  fails(shard, begin, error);
  const bool in_vain = has_failed_for(shard, options_.timeout);
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_[shard];
  pool.tried = std::chrono::steady_clock::now();
  if (pool.given_up || in_vain) {
    pool.given_up = after_timeout(with_class(sql::ErrorClass::unreachable, error), options_.timeout);
    throw sql::ServerError(*pool.given_up);
  }
}

bool Shards::has_failed_for(std::uint32_t shard, std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  const auto& since = pools_.at(shard).failing_since;
  return since && std::chrono::steady_clock::now() - *since >= time;
}

// Once for each time that the shard fails.
void Shards::warn_of_wait(std::uint32_t shard) {
  if (!has_failed_for(shard, longest_silent_wait)) {
    return;
  }
  std::optional<sql::ServerError> failure;
  {
    const std::lock_guard lock(mutex_);
    Pool& pool = pools_[shard];
    if (pool.told || pool.given_up || !pool.failure) {
      return;
    }
    pool.told = true;
    failure = pool.failure;
  }
  Error::Context context = {{"reason", failure->what()}};
  context.insert(context.end(), failure->context().begin(), failure->context().end());
  warn({"waiting for a shard", std::move(context),
        fmt::format("run `looseleaf status` to see the other shards; this one is retried until {} expires",
                    name_of(options_.timeout))});
}

std::chrono::milliseconds Shards::patience(Purpose purpose) const {
  return purpose == Purpose::brief ? options_.connect_timeout : options_.timeout;
}

// How much longer a shard is waited for that may be dead.
std::chrono::milliseconds Shards::time_left_for(std::uint32_t shard, Purpose purpose) {
  const std::lock_guard lock(mutex_);
  const auto& since = pools_.at(shard).failing_since;
  return since ? base::Deadline(*since, patience(purpose)).left() : patience(purpose);
}

Lease Shards::connect_once(std::uint32_t shard, Purpose purpose, std::optional<std::chrono::milliseconds> left) {
  const std::uint64_t age = times_dropped(shard);
  if (auto connection = take_idle(shard, purpose)) {
    return {this, shard, purpose, std::move(connection), true, age};
  }
  {
    const std::lock_guard lock(mutex_);
    const Pool& pool = pools_.at(shard);
    if (pool.given_up && std::chrono::steady_clock::now() - pool.tried < retry_dead_after) {
      throw sql::ServerError(*pool.given_up);
    }
  }
  return on_shard(*this, shard, [&]() -> Lease {
    try {
      const auto time = left.value_or(options_.timeout);
      auto connection = open(shard, purpose, true, time);
      check_identity(shard, *connection);
      answers(shard);
      return {this, shard, purpose, std::move(connection), time >= longest_statement(purpose), age};
    } catch (const sql::ServerError& error) {
      if (error.number() == er_bad_db) {
        refuse_uninitialised(shard);
      }
      throw;
    }
  });
}

std::unique_ptr<sql::Connection> Shards::connect_unchecked(std::uint32_t shard, const base::Deadline& deadline,
                                                           bool use_database) {
  return until_it_answers(shard, deadline, Purpose::general, [&](std::chrono::milliseconds left) {
    auto connection = on_shard(*this, shard, [&] { return open(shard, Purpose::general, use_database, left); });
    answers(shard);
    return connection;
  });
}

std::unique_ptr<sql::Connection> Shards::connect_replica(std::uint32_t shard, std::size_t n) const {
  ShardConfig config = cluster_.shards.at(shard);
  config.address = config.replicas.at(n);
  sql::ConnectOptions connect = connect_options(config);
  connect.connect_timeout = options_.connect_timeout;
  connect.read_timeout = options_.connect_timeout;
  connect.database.clear();
  connect.require_writable = false;
  return std::make_unique<sql::Connection>(connect);
}

sql::ConnectOptions Shards::connect_options(const ShardConfig& shard) const {
  return config::resolve_connection(cluster_, shard, {options_.defaults_file, options_.ssl_mode});
}

std::unique_ptr<sql::Connection> Shards::take_idle(std::uint32_t shard, Purpose purpose) {
  const std::lock_guard lock(mutex_);
  auto& idle = pools_.at(shard).idle.at(static_cast<std::size_t>(purpose));
  while (!idle.empty()) {
    auto connection = std::move(idle.back());
    idle.pop_back();
    if (connection->idle_for() < max_idle_time) {
      return connection;
    }
  }
  return nullptr;
}

// Half of the time-out: whoever meets a silent server has time left to try another connection. But never less than the
// servers themselves wait for locks, which are not silent then.
std::chrono::milliseconds Shards::longest_statement(Purpose purpose) const {
  const auto half = std::max(options_.timeout / 2, shortest_patience);
  switch (purpose) {
    case Purpose::index_writes:
      return std::min(half, longest_index_write);
    case Purpose::brief:
      return std::min(half, options_.connect_timeout);
    case Purpose::general:
      break;
  }
  return half;
}

std::unique_ptr<sql::Connection> Shards::open(std::uint32_t shard, Purpose purpose, bool use_database,
                                              std::chrono::milliseconds left) {
  const ShardConfig& config = cluster_.shards.at(shard);
  sql::ConnectOptions connect = connect_options(config);
  connect.connect_timeout = std::min({options_.connect_timeout, longest_statement(Purpose::general), left});
  connect.read_timeout = std::min(longest_statement(purpose), left);
  if (!use_database) {
    connect.database.clear();
  }
  std::unique_ptr<sql::Connection> connection;
  try {
    connection = std::make_unique<sql::Connection>(connect);
  } catch (const sql::ServerError& error) {
    const auto password =
        error.number() == er_access_denied && !connect.password_given ? ask_password(shard) : std::nullopt;
    if (!password) {
      throw;
    }
    connect.password = *password;
    connect.password_given = true;
    connection = std::make_unique<sql::Connection>(connect);
  }
  for (const std::string& text : connection->warnings()) {
    warn({text, {{"server", to_string(config.address)}}, {}});
  }
  return connection;
}

std::optional<std::string> Shards::ask_password(std::uint32_t shard) {
  if (!options_.ask_password) {
    return std::nullopt;
  }
  const std::lock_guard lock(password_mutex_);
  if (!password_) {
    password_ = options_.ask_password(fmt::format("Password for shard {}: ", shard));
  }
  return password_;
}

void Shards::check_identity(std::uint32_t shard, sql::Connection& connection) {
  std::optional<sql::Result> found;
  try {
    found = connection.query("SELECT cluster_id, shard, shard_count, format FROM looseleaf_shard WHERE only_row = 1");
  } catch (const sql::ServerError& error) {
    if (error.error_class() != sql::ErrorClass::table_gone) {
      throw;
    }
  }
  if (!found || found->empty()) {
    refuse_uninitialised(shard);
  }
  const Uuid id = Uuid::from_bytes(found->text(0, 0)).value_or(Uuid{});
  const auto refuse = [](const char* what, const std::string& expected, const std::string& seen) {
    throw Error(ErrorCode::wrong_cluster, what, {{"expected", expected}, {"found", seen}},
                "check the order, number and addresses of the shards in the cluster file; nothing was read or written");
  };
  if (found->unsigned_integer(0, 3) != format_version) {
    refuse("shard has a different format version", fmt::format("{}", format_version), found->text(0, 3));
  }
  if (found->unsigned_integer(0, 2) != count()) {
    throw other_shard_count(found->unsigned_integer(0, 2), count());
  }
  if (found->unsigned_integer(0, 1) != shard) {
    refuse("shard is at the wrong place in the cluster file", fmt::format("shard {}", shard),
           "shard " + found->text(0, 1));
  }
  const std::lock_guard lock(mutex_);
  if (!cluster_id_) {
    cluster_id_ = id;
  } else if (*cluster_id_ != id) {
    refuse("shard belongs to another cluster", to_string(*cluster_id_), to_string(id));
  }
}

// A shard too many in the cluster file is not initialised either, and `init` is no help: whichever end of the file it
// stands at, the shard at the other end knows how many there are.
void Shards::refuse_uninitialised(std::uint32_t shard) {
  for (const std::uint32_t other : {0U, count() - 1}) {
    std::uint64_t in_store = count();
    try {
      if (other != shard) {
        const auto connection = open(other, Purpose::general, true, options_.connect_timeout);
        const auto found = connection->query("SELECT shard_count FROM looseleaf_shard WHERE only_row = 1");
        in_store = found.empty() ? in_store : found.unsigned_integer(0, 0);
      }
    } catch (const sql::ServerError&) {  // it cannot tell
    }
    if (in_store != count()) {
      throw other_shard_count(in_store, count());
    }
  }
  throw NotInitialised();
}

void Shards::check_identities(Known known) {
  std::vector<std::function<void()>> tasks;
  for (std::uint32_t shard = 0; shard < count(); ++shard) {
    if (known == Known::trust && cached_catalog(shard)) {
      continue;
    }
    tasks.emplace_back([this, shard] {
      const auto started = std::chrono::steady_clock::now();
      try {
        const Lease lease = connect_once(shard);
        on_shard(*this, shard, [&] { reload_catalog(shard, *lease); });
      } catch (const sql::ServerError& error) {
        if (!error.retryable() && error.error_class() != sql::ErrorClass::unreachable) {
          throw;
        }
        fails(shard, started, error);
      }
    });
  }
  base::run_all(tasks);
}

void Shards::fails(std::uint32_t shard, std::chrono::steady_clock::time_point since,
                   const std::optional<sql::ServerError>& failure) {
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_.at(shard);
  pool.failing_since = pool.failing_since.value_or(since);
  pool.failure = failure ? failure : pool.failure;
}

std::uint64_t Shards::times_dropped(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  return pools_.at(shard).dropped;
}

void Shards::give_back(std::uint32_t shard, Purpose purpose, std::unique_ptr<sql::Connection> connection,
                       std::uint64_t age) {
  answers(shard);
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_.at(shard);
  auto& idle = pool.idle.at(static_cast<std::size_t>(purpose));
  if (idle.size() < max_idle && age == pool.dropped) {
    idle.push_back(std::move(connection));
  }
}

void Shards::answers(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_.at(shard);
  pool.failing_since.reset();
  pool.failure.reset();
  pool.given_up.reset();
  pool.told = false;
}

void Shards::drop_others(std::uint32_t shard) {
  decltype(Pool::idle) dropped;  // outlives the lock, so that closing happens without it
  const std::lock_guard lock(mutex_);
  std::swap(dropped, pools_.at(shard).idle);
  ++pools_.at(shard).dropped;
}

std::shared_ptr<const Catalog> Shards::catalog(std::uint32_t shard, const base::Deadline& deadline) {
  if (auto catalog = cached_catalog(shard)) {
    return catalog;
  }
  return with_shard(*this, shard, deadline,
                    [&](sql::Connection& connection) { return reload_catalog(shard, connection); });
}

std::shared_ptr<const Catalog> Shards::cached_catalog(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  return pools_.at(shard).catalog;
}

std::shared_ptr<const Catalog> Shards::reload_catalog(std::uint32_t shard, sql::Connection& connection) {
  auto catalog = std::make_shared<const Catalog>(load_catalog(connection));
  const std::lock_guard lock(mutex_);
  pools_.at(shard).catalog = catalog;
  return catalog;
}

bool Shards::last_ids_were_new(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  return pools_.at(shard).last_ids_were_new;
}

void Shards::note_ids(std::uint32_t shard, bool all_new) {
  const std::lock_guard lock(mutex_);
  pools_.at(shard).last_ids_were_new = all_new;
}

void Shards::warn(Warning warning) {
  if (!options_.on_warning) {
    return;
  }
  std::string key = warning.what;
  for (const auto& [name, value] : warning.context) {
    key += '\n' + name + '\n' + value;
  }
  const std::lock_guard lock(warning_mutex_);
  if (warned_.insert(std::move(key)).second) {
    options_.on_warning(warning);
  }
}

}  // namespace looseleaf::shard

// Lends connections to the shards of a cluster.
#include "server/sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/parallel.hpp"

namespace looseleaf::server {
namespace {

constexpr int er_bad_db = 1049;

// For this time after a server did not accept a connection, it is not asked again by those who do not wait for it.
constexpr auto just_now = std::chrono::seconds(1);

// A server that hangs is tried only once in this time by work that may be left undone.
constexpr auto between_unneeded_attempts = std::chrono::seconds(5);

// How long connect_unchecked_once() waits while this process has too many connections.
constexpr auto longest_unneeded_wait = std::chrono::seconds(1);

// A failover or a restart may take this long without a warning; the program reports a longer wait.
constexpr auto longest_silent_wait = std::chrono::seconds(2);

// Returns the timeout as the user gave it: "--timeout (30 s)".
std::string name_of(std::chrono::milliseconds timeout) {
  return fmt::format("--timeout ({:.15g} s)", static_cast<double>(timeout.count()) / 1000.0);
}

sql::ServerError with_class(sql::ErrorClass error_class, const sql::ServerError& error) {
  return {error_class, error.number(), error.code(), error.what(), error.context(), error.hint()};
}

// Returns the error to throw when the timeout has expired.
sql::ServerError after_timeout(sql::ServerError error, std::chrono::milliseconds timeout) {
  const std::string advice = error.hint().empty() ? "" : error.hint() + "; ";
  error.with_hint(fmt::format("{}retried until {} expired", advice, name_of(timeout)));
  return error;
}

}  // namespace

Lease::Lease(Sessions* owner, std::uint32_t shard, Place place, Session session, std::string database, bool keep,
             std::uint64_t pool_generation)
    : owner_(owner),
      shard_(shard),
      place_(std::move(place)),
      session_(std::move(session)),
      database_(*session_.connection, std::move(database)),
      keep_(keep),
      pool_generation_(pool_generation) {
  if (owner_->rehearsal_ != nullptr) {
    session_.connection->rehearse(*owner_->rehearsal_, shard_);
  }
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    give_back();
    owner_ = other.owner_;
    shard_ = other.shard_;
    session_ = std::move(other.session_);
    place_ = std::move(other.place_);
    database_ = std::move(other.database_);
    keep_ = other.keep_;
    pool_generation_ = other.pool_generation_;
  }
  return *this;
}

Lease::~Lease() {
  give_back();
}

void Lease::give_back() noexcept {
  if (!session_.connection) {
    return;
  }
  try {
    if (session_.connection->broken()) {
      owner_->connection_broke(shard_);
    } else if (keep_) {
      owner_->give_back(shard_, place_.purpose(), std::move(session_), pool_generation_);
    }
  } catch (...) {
    session_.connection.reset();  // no memory for the pool: the connection is closed instead
  }
  session_.connection.reset();
}

sql::Database Lease::on(std::uint32_t shard) {
  check({&shard, 1});
  return {*session_.connection, owner_->cluster_.shards[shard].database};
}

void Lease::check(std::span<const std::uint32_t> shards) {
  owner_->check(session_, shards);
}

Sessions::Sessions(const Cluster& cluster, const Options& options, base::Warnings& warnings, FirstQuery first_query,
                   Check check, OnNoDatabase on_no_database)
    : cluster_(cluster),
      warnings_(warnings),
      warns_of_waits_(options.warn_of_waits),
      first_query_(std::move(first_query)),
      check_(std::move(check)),
      on_no_database_(std::move(on_no_database)),
      connector_(cluster, options, warnings),
      health_(connector_.servers()) {
  for (std::uint32_t server = 0; server < connector_.servers(); ++server) {
    pools_.emplace_back(connector_.max_connections());
  }
}

Lease Sessions::connect(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose) {
  return until_it_answers(shard, deadline, purpose, [&](std::chrono::milliseconds left) {
    const bool in_vain = purpose == Purpose::fail_fast && health_of(shard).failing_for(patience(purpose));
    return attempt(shard, purpose, deadline, {left, left}, in_vain ? Again::unless_it_just_failed : Again::yes);
  });
}

template <typename Try>
auto Sessions::until_it_answers(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose, Try&& attempt)
    -> decltype(attempt(std::chrono::milliseconds())) {
  Health& health = health_of(shard);
  sql::Backoff backoff;
  while (true) {
    if (purpose != Purpose::fail_fast) {
      warn_of_wait(shard);
    }
    const auto begin = Health::Clock::now();
    try {
      return attempt(std::min(deadline.left(), health.time_left(patience(purpose))));
    } catch (const sql::ServerError& error) {
      if (!error.retryable()) {
        throw;
      }
      health.failed(begin, error);
      give_up_if_in_vain(shard, error);
      if (purpose == Purpose::fail_fast && health.failing_for(patience(purpose))) {
        throw with_class(sql::ErrorClass::unreachable, error);
      }
      if (deadline.passed()) {
        throw after_timeout(error, connector_.timeout());
      }
    }
    backoff.wait(deadline);
  }
}

void Sessions::give_up_if_in_vain(std::uint32_t shard, const sql::ServerError& error) {
  Health& health = health_of(shard);
  if (health.attempted(connector_.timeout())) {
    const auto final_error = after_timeout(with_class(sql::ErrorClass::unreachable, error), connector_.timeout());
    health.give_up(final_error);
    throw sql::ServerError(final_error);
  }
}

void Sessions::warn_of_wait(std::uint32_t shard) {
  Health& health = health_of(shard);
  if (!warns_of_waits_ || !health.failing_for(longest_silent_wait)) {
    return;
  }
  const auto failure = health.untold_failure();
  if (!failure) {
    return;
  }
  Error::Context context = {{"reason", failure->what()}};
  context.insert(context.end(), failure->context().begin(), failure->context().end());
  warnings_.give({"waiting for a shard", std::move(context),
                  fmt::format("run `looseleaf status` to see the other shards; this one is retried until {} expires",
                              name_of(connector_.timeout()))},
                 {});
}

std::chrono::milliseconds Sessions::patience(Purpose purpose) const {
  return purpose == Purpose::fail_fast ? connector_.connect_timeout() : connector_.timeout();
}

Place Sessions::enter(std::uint32_t shard, Purpose purpose, const base::Deadline& deadline) {
  if (auto place = pool_of(shard).enter(purpose, deadline)) {
    return *std::move(place);
  }
  if (const auto failure = health_of(shard).failure()) {  // those who have the sessions wait for the server
    throw sql::ServerError(after_timeout(with_class(sql::ErrorClass::unreachable, *failure), connector_.timeout()));
  }
  Error::Context context = shard_context(cluster_, shard);
  context.emplace_back("connections", fmt::format("{}", connector_.max_connections()));
  throw Error(ErrorCode::unavailable, "all connections of this process to the server were in use until the timeout",
              std::move(context),
              purpose == Purpose::pinned
                  ? "end another long job of this process, or raise \"max_connections\" in the cluster file or "
                    "--max-connections"
                  : "retry, or raise \"max_connections\" in the cluster file or --max-connections");
}

Lease Sessions::connect_once(std::uint32_t shard, Purpose purpose, std::optional<std::chrono::milliseconds> left) {
  const auto longest = left.value_or(connector_.timeout());
  return attempt(shard, purpose, base::Deadline(longest), {longest, longest}, Again::unless_it_just_failed);
}

Lease Sessions::connect_soon(std::uint32_t shard, Purpose purpose) {
  const auto longest = connector_.timeout();
  return attempt(shard, purpose, base::Deadline(longest), {soon, longest}, Again::unless_it_just_failed, soon);
}

Lease Sessions::connect_if_free(std::uint32_t shard, Purpose purpose, std::chrono::milliseconds wait) {
  const auto longest = connector_.timeout();
  return attempt(shard, purpose, base::Deadline(longest), {longest, longest}, Again::unless_it_just_failed, wait);
}

Lease Sessions::attempt(std::uint32_t shard, Purpose purpose, const base::Deadline& deadline,
                        const Connector::Limits& limits, Again again, std::chrono::milliseconds wait) {
  const auto refuse_given_up = [&] {
    if (const auto refusal = health_of(shard).refusal()) {
      throw sql::ServerError(*refusal);
    }
  };
  refuse_given_up();
  Place place = enter(shard, purpose, base::Deadline(std::min(wait, deadline.left())));
  Pool& pool = pool_of(shard);
  const std::uint64_t generation = pool.generation();
  if (Session session = pool.take(place); session.connection) {
    Lease lease(this, shard, std::move(place), std::move(session), cluster_.shards[shard].database, true, generation);
    static_cast<void>(lease.on(shard));
    return lease;
  }
  refuse_given_up();  // it may have been given up meanwhile
  return on_shard(cluster_, shard, [&] {
    if (const auto failure = health_of(shard).failure_within(just_now);
        failure && (again == Again::unless_it_just_failed || failure->refuses_login())) {
      throw sql::ServerError(*failure);
    }
    const std::chrono::milliseconds left = deadline.left();
    try {
      return open(shard, std::move(place), generation,
                  {std::min(limits.connect, left), std::min(limits.statement, left)});
    } catch (const sql::ServerError& error) {
      if (error.retryable() || error.refuses_login()) {
        health_of(shard).attempt_failed(error);
      }
      throw;
    }
  });
}

void Sessions::open_ahead(const std::set<std::uint32_t>& shards, Purpose purpose) {
  std::vector<std::function<void()>> tasks;
  std::set<std::uint32_t> servers;
  for (const std::uint32_t shard : shards) {
    if (!servers.insert(connector_.server_of(shard)).second || pool_of(shard).has_idle(purpose) || is_failing(shard) ||
        health_of(shard).failure_within(just_now)) {
      continue;
    }
    tasks.emplace_back([this, shard, purpose] {
      Pool& pool = pool_of(shard);
      auto place = pool.enter(purpose, base::Deadline({}));
      if (!place) {
        return;
      }
      pool.make_room(*place);
      try {
        static_cast<void>(open(shard, *std::move(place), pool.generation(), {soon, connector_.timeout()}));
      } catch (const sql::ServerError& error) {
        if (error.refuses_login()) {
          health_of(shard).attempt_failed(error);
        }
      } catch (const Error&) {  // the operation meets it again, and waits for longer
      }
    });
  }
  base::run_all(tasks);
}

Lease Sessions::open(std::uint32_t shard, Place place, std::uint64_t generation, const Connector::Limits& limits) {
  const auto leave = [&] { const Place left = std::move(place); };
  const Purpose purpose = place.purpose();
  const auto timeout = connector_.timeout();
  const bool keep = limits.statement >= std::min(connector_.longest_statement(purpose), timeout / 2);
  std::unique_ptr<sql::Connection> connection;
  try {
    connection = connector_.open(shard, purpose, true, {limits.connect, keep ? timeout : limits.statement},
                                 first_query_({&shard, 1}));
  } catch (const sql::ServerError& error) {
    if (error.number() == er_bad_db) {
      leave();
      on_no_database_(shard);
    }
    throw;
  }
  const sql::NamedTexts rows = connection->take_first_rows();
  if (rows.empty()) {  // the check looks at other shards, too
    connection.reset();
    leave();
  }
  check_({&shard, 1}, rows);
  health_of(shard).answered();
  return {this, shard,     std::move(place), {std::move(connection), {shard}}, cluster_.shards[shard].database,
          keep, generation};
}

void Sessions::check(Session& session, std::span<const std::uint32_t> shards) {
  std::vector<std::uint32_t> unchecked;
  std::copy_if(shards.begin(), shards.end(), std::back_inserter(unchecked),
               [&](std::uint32_t shard) { return !session.checked.contains(shard); });
  for (std::span rest(unchecked); !rest.empty(); rest = rest.subspan(std::min(rest.size(), shards_at_once))) {
    check_at_once(session, rest.first(std::min(rest.size(), shards_at_once)));
  }
}

void Sessions::check_at_once(Session& session, std::span<const std::uint32_t> shards) {
  sql::NamedTexts rows;
  try {
    rows = on_shard(cluster_, shards.front(),
                    [&] { return sql::to_named_texts(session.connection->query(first_query_(shards))); });
  } catch (const sql::ServerError& error) {
    if (shards.size() > 1 && !error.retryable() && !session.connection->broken()) {  // it may be one shard's
      for (const std::uint32_t shard : shards) {
        check_at_once(session, {&shard, 1});
      }
      return;
    }
    if (error.number() != er_bad_db && error.error_class() != sql::ErrorClass::table_gone) {
      throw;
    }
  }
  check_(shards, rows);
  session.checked.insert(shards.begin(), shards.end());
}

Lease Sessions::connect_unchecked(std::uint32_t shard, const base::Deadline& deadline, bool use_database) {
  return until_it_answers(shard, deadline, Purpose::general, [&](std::chrono::milliseconds left) {
    Lease lease = open_unchecked(shard, use_database, left, deadline);
    health_of(shard).answered();
    return lease;
  });
}

Lease Sessions::connect_unchecked_once(std::uint32_t shard) {
  if (const auto failure = health_of(shard).failure_within(connector_.connect_timeout())) {
    throw sql::ServerError(*failure);
  }
  return open_unchecked(shard, true, connector_.connect_timeout(), base::Deadline(longest_unneeded_wait));
}

Lease Sessions::open_unchecked(std::uint32_t shard, bool use_database, std::chrono::milliseconds left,
                               const base::Deadline& deadline) {
  Place place = enter(shard, Purpose::general, deadline);
  pool_of(shard).make_room(place);
  auto connection = on_shard(cluster_, shard, [&] {
    try {
      return connector_.open(shard, Purpose::general, use_database, {left, left});
    } catch (const sql::ServerError& error) {
      if (error.retryable()) {
        health_of(shard).attempt_failed(error);
      }
      throw;
    }
  });
  return {this, shard, std::move(place), {std::move(connection)}, cluster_.shards[shard].database, false, 0};
}

bool Sessions::has_given_up(std::uint32_t shard) const {
  return health_.at(connector_.server_of(shard)).is_given_up();
}

bool Sessions::is_failing(std::uint32_t shard) const {
  return health_.at(connector_.server_of(shard)).failing_for(std::chrono::milliseconds(0));
}

void Sessions::refuse_silent(std::uint32_t shard) const {
  if (const auto failure = health_.at(connector_.server_of(shard)).silence_within(between_unneeded_attempts)) {
    on_shard(cluster_, shard, [&] { throw sql::ServerError(*failure); });
  }
}

void Sessions::note_failure(std::uint32_t shard, Health::Clock::time_point since, const sql::ServerError& failure) {
  health_of(shard).failed(since, failure);
}

void Sessions::note_hasty_failure(std::uint32_t shard, Health::Clock::time_point since,
                                  const sql::ServerError& failure) {
  health_of(shard).failed_hastily(since, failure);
}

void Sessions::connection_broke(std::uint32_t shard) {
  health_of(shard).failed(Health::Clock::now());
  pool_of(shard).empty();
}

void Sessions::give_back(std::uint32_t shard, Purpose purpose, Session session, std::uint64_t pool_generation) {
  if (pool_of(shard).give_back(purpose, std::move(session), pool_generation)) {
    health_of(shard).answered();  // a session from before the server failed says nothing
  }
}

}  // namespace looseleaf::server

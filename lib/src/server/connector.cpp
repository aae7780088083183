// Opens connections with the settings from the cluster file, the option files and the caller.
#include "server/connector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error_text.hpp"

namespace looseleaf::server {
namespace {

constexpr int er_access_denied = 1045;
constexpr int er_database_access_denied = 1044;          // the account has no right to the database, perhaps no more
constexpr int er_access_denied_without_password = 1698;  // MariaDB, to accounts that may log in by the socket, too

bool is_access_denied(const sql::ServerError& error) {
  return error.number() == er_access_denied || error.number() == er_access_denied_without_password;
}

// Returns references to what files can change.
auto login_of(auto& options) {
  return std::tie(options.user, options.password, options.password_given, options.tls);
}

// A lock wait ends after 2 s, so a server that takes longer than this hangs.
constexpr auto longest_index_write = std::chrono::milliseconds(3500);
constexpr std::chrono::milliseconds shortest_patience = std::chrono::seconds(3);

}  // namespace

Error::Context shard_context(const Cluster& cluster, std::uint32_t shard) {
  const ShardConfig& config = cluster.shards.at(shard);
  return {{"shard", fmt::format("{}", shard)}, {"server", to_string(config.address)}, {"database", config.database}};
}

Error error_of_shard(const Cluster& cluster, std::uint32_t shard, const Error& error) {
  Error::Context context = shard_context(cluster, shard);
  const Error::Context place = context;
  std::copy_if(error.context().begin(), error.context().end(), std::back_inserter(context), [&](const auto& fact) {
    return std::none_of(place.begin(), place.end(), [&](const auto& own) { return own.first == fact.first; });
  });
  return {error.code(), error.what(), std::move(context), error.hint()};
}

std::optional<std::uint32_t> shard_named_by(const Error& error) {
  const auto& context = error.context();
  const auto named =
      std::find_if(context.begin(), context.end(), [](const auto& fact) { return fact.first == "shard"; });
  if (named == context.end()) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(std::stoul(named->second));
}

Connector::Connector(const Cluster& cluster, const Options& options, base::Warnings& warnings)
    : cluster_(cluster), options_(options), warnings_(warnings) {
  const auto settings = std::make_shared<const config::ConnectionSettings>(
      cluster, config::Overrides{options.defaults_file, options.ssl_mode});
  // Options are resolved once for all shards with the same settings, because that takes time.
  std::vector<std::pair<ShardConfig, std::uint32_t>> configs;  // without database and replicas; the server's number
  std::vector<sql::ConnectOptions> servers;
  for (ShardConfig config : cluster_.shards) {
    config.database.clear();
    config.replicas.clear();
    const auto known =
        std::find_if(configs.rbegin(), configs.rend(), [&](const auto& pair) { return pair.first == config; });
    if (known != configs.rend()) {
      server_of_.push_back(known->second);
      continue;
    }
    const sql::ConnectOptions resolved = settings->of(config);
    const auto same = std::find_if(servers.begin(), servers.end(), [&](const sql::ConnectOptions& other) {
      return other.address == resolved.address && other.user == resolved.user && other.tls == resolved.tls;
    });
    server_of_.push_back(static_cast<std::uint32_t>(same - servers.begin()));
    configs.emplace_back(std::move(config), server_of_.back());
    if (same == servers.end()) {
      servers.push_back(resolved);
    }
  }
  servers_ = static_cast<std::uint32_t>(servers.size());
  settings_.assign(servers_, settings);
}

std::vector<std::vector<std::uint32_t>> Connector::by_server(std::span<const std::uint32_t> shards) const {
  std::vector<std::vector<std::uint32_t>> groups(servers_);
  for (const std::uint32_t shard : shards) {
    groups[server_of(shard)].push_back(shard);
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

std::unique_ptr<sql::Connection> Connector::open(std::uint32_t shard, Purpose purpose, bool use_database,
                                                 const Limits& limits, const std::string& first_query) {
  const ShardConfig& config = cluster_.shards.at(shard);
  sql::ConnectOptions connect = settings(shard)->of(config);
  connect.connect_timeout = std::min({connect_timeout(), longest_statement(Purpose::general), limits.connect});
  connect.read_timeout = std::min(longest_statement(purpose), limits.statement);
  connect.first_query = first_query;
  if (!use_database) {
    connect.database.clear();
  }
  std::unique_ptr<sql::Connection> connection = log_in(std::move(connect), config, shard);
  for (const std::string& text : connection->facts().warnings) {
    warnings_.give({text, {{"server", to_string(config.address)}}, {}});
  }
  return connection;
}

// Servers lock accounts after failed logins. So there are at most two attempts, and an account that needs a password is
// not tried without it again.
std::unique_ptr<sql::Connection> Connector::log_in(sql::ConnectOptions connect, const ShardConfig& config,
                                                   std::uint32_t shard) {
  const sql::ConnectOptions configured = connect;
  const auto use_typed_password = [&] {
    const auto password = connect.password_given ? std::nullopt : ask_password(shard);
    connect.password = password.value_or(connect.password);
    connect.password_given = connect.password_given || password;
    return password.has_value();
  };
  const Passwords::Account account(to_string(connect.address), connect.user);
  if (passwords_->is_needed(account)) {
    static_cast<void>(use_typed_password());
  }
  Settings now;
  try {
    return try_login(connect, shard);
  } catch (sql::ServerError& refused) {
    if (!refused.refuses_login() && refused.number() != er_database_access_denied) {
      throw;
    }
    now = read_again(shard, refused);
    if (const auto changed = now ? now->of(config) : configured; login_of(changed) != login_of(configured)) {
      login_of(connect) = login_of(changed);
    } else if (is_access_denied(refused) && use_typed_password()) {
      passwords_->note_needed(account);
    } else {
      throw;
    }
  }
  std::unique_ptr<sql::Connection> connection = try_login(connect, shard);
  if (now) {  // only what this server accepts
    const std::lock_guard lock(settings_mutex_);
    settings_[server_of(shard)] = now;
  }
  return connection;
}

std::unique_ptr<sql::Connection> Connector::try_login(const sql::ConnectOptions& connect, std::uint32_t shard) {
  try {
    return std::make_unique<sql::Connection>(connect);
  } catch (sql::ServerError& error) {
    if (const std::string file = settings(shard)->password_file(); is_access_denied(error) && !file.empty()) {
      error.with("password file", file)
          .with_hint("check the user in the cluster file and the option files, and the password in the password file");
    }
    throw;
  }
}

// No lock is held while files are read, which may take long.
Connector::Settings Connector::read_again(std::uint32_t shard, sql::ServerError& refused) {
  try {
    return std::make_shared<const config::ConnectionSettings>(settings(shard)->read_again());
  } catch (const Error& error) {
    if (is_access_denied(refused)) {
      refused.with("not read again", base::on_one_line(error));
      refused.with_hint(error.hint().empty() ? refused.hint() : error.hint());
    }
    return nullptr;
  }
}

std::unique_ptr<sql::Connection> Connector::open_replica(std::uint32_t shard, std::size_t n) {
  ShardConfig config = cluster_.shards.at(shard);
  config.address = config.replicas.at(n);
  sql::ConnectOptions connect = settings(shard)->of(config);
  connect.connect_timeout = connect_timeout();
  connect.read_timeout = connect_timeout();
  connect.database.clear();
  connect.require_writable = false;
  return log_in(std::move(connect), config, shard);
}

// Returns half of the timeout, so that time is left to try another connection when a server stops responding. The
// minimum is the lock wait timeout of the servers, because a server that waits for a lock does not hang.
std::chrono::milliseconds Connector::longest_statement(Purpose purpose) const {
  const auto half = std::max(timeout() / 2, shortest_patience);
  switch (purpose) {
    case Purpose::index_writes:
      return std::min(half, longest_index_write);
    case Purpose::fail_fast:
      return std::min(half, connect_timeout());
    case Purpose::general:
    case Purpose::pinned:
      break;
  }
  return half;
}

std::size_t Connector::max_connections() const {
  return options_.max_connections.value_or(cluster_.max_connections);
}

Connector::Settings Connector::settings(std::uint32_t shard) {
  const std::lock_guard lock(settings_mutex_);
  return settings_[server_of(shard)];
}

std::optional<std::string> Connector::ask_password(std::uint32_t shard) {
  if (!options_.ask_password) {
    return std::nullopt;
  }
  const sql::ConnectOptions connect = settings(shard)->of(cluster_.shards.at(shard));
  return passwords_->of(connect.user, [&] {
    return options_.ask_password(
        fmt::format("Password for shard {} ({} at {}): ", shard, connect.user, to_string(connect.address)));
  });
}

}  // namespace looseleaf::server

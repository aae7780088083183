// Fixtures of proof_server_faults.
#include "tests/proof/faulty_servers.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "config/connection_settings.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {

bool on_mysql() {
  return looseleaf_flavour() == "mysql";
}

void check_went_well(const cli::ProcessResult& result, std::string_view out) {
  CHECK_MESSAGE(result.status == 0, result.err);
  CHECK(result.out == out);
  CHECK_MESSAGE(result.err.find("looseleaf: error:") == std::string::npos, result.err);
}

cli::Process AppProgram::start(const std::vector<std::string>& arguments, std::string_view input,
                               const std::string& failpoints) const {
  const std::vector<std::string> program = {"env", "LOOSELEAF_FAILPOINT=" + failpoints, looseleaf_program(),
                                            "--cluster", file_};
  return looseleaf::test::start(joined(program, arguments), input);
}

std::string AppProgram::write(const std::string& name, std::string_view text) const {
  const std::string path = std::filesystem::path(file_).replace_filename(name);
  std::ofstream(path) << text;
  return path;
}

void AppProgram::make_account_and_file(const TestCluster& servers, const FaultProxy& proxy, std::uint32_t other) {
  for (const std::uint32_t server : {0U, other}) {
    servers.server_sql(server,
                       "CREATE USER app@localhost; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON "
                       "looseleaf.* TO app@localhost");
  }
  file_ = servers.directory().write(
      "app.json",
      fmt::format(R"({{"shards": ["127.0.0.1:{}", {{"socket": "{}"}}], "ssl_mode": "disabled", "user": "app",
                        "defaults_file": "{}"}})",
                  proxy.port(), servers.socket(other), servers.directory().write("empty.cnf", "")));
}

Store::Store(TestCluster on) : cluster(std::move(on)) {
  REQUIRE(cluster.looseleaf({"init", "--quiet"}).status == 0);
  create_index(cluster, by_n_sharded);
  const std::string secret = cluster.directory().write("app.cnf", "[client]\nuser=app\npassword=secret\n");
  ::chmod(secret.c_str(), S_IRUSR | S_IWUSR);
  for (std::uint32_t shard = 0; shard < cluster.shards(); ++shard) {
    cluster.server_sql(cluster.server_of(shard),
                       fmt::format("CREATE USER IF NOT EXISTS app@localhost IDENTIFIED BY 'secret'; "
                                   "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON {}.* TO "
                                   "app@localhost",
                                   cluster.database(shard)));
  }
  file_ = cluster.write_file("app.json", fmt::format(R"("defaults_file": "{}")", secret));
}

std::unique_ptr<sql::Connection> Store::admin(std::uint32_t shard) const {
  return connect(shard, cluster.defaults_file());
}

std::unique_ptr<sql::Connection> Store::app(std::uint32_t shard) const {
  return connect(shard, cluster.directory().path() + "/app.cnf");
}

void Store::check_all_is_well(std::string_view acknowledged) const {
  const cli::ProcessResult got = looseleaf({"get", "-", "--quiet"}, acknowledged);
  CHECK_MESSAGE(got.status == 0, got.err);
  const cli::ProcessResult before = looseleaf({"verify", "--grace", "0", "--all"});
  CHECK((before.status == 0 || before.status == 1));
  CHECK_MESSAGE(times("missing ", before.out) == times("missing  stale", before.out), before.out);
  check_status(looseleaf({"clean", "--full", "--quiet"}), 0);
  check_status(looseleaf({"verify", "--grace", "0", "--quiet"}), 0);
}

std::unique_ptr<sql::Connection> Store::connect(std::uint32_t shard, const std::string& option_file) const {
  ShardConfig config;
  config.address.socket = cluster.socket(shard);
  config.database = cluster.database(shard);
  Cluster one_shard;
  one_shard.shards = {config};
  sql::ConnectOptions options = config::ConnectionSettings(one_shard, {option_file, SslMode::disabled}).of(config);
  options.require_writable = false;
  return std::make_unique<sql::Connection>(options);
}

Setting::Setting(const TestCluster& cluster, std::string name, const std::string& value)
    : cluster_(cluster), name_(std::move(name)) {
  before_ = cluster.server_sql(0, "SELECT @@global." + name_);
  before_.pop_back();
  set(value);
}

void Setting::set(const std::string& value) const {
  for (std::uint32_t server = 0; server < cluster_.sandbox().servers(); ++server) {
    cluster_.server_sql(server, fmt::format("SET GLOBAL {} = {}", name_, value));
  }
}

SmallDisk::SmallDisk() : mounted_(::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=400m") == 0) {}

SmallDisk::~SmallDisk() {
  if (mounted_) {
    ::umount2(directory_.path().c_str(), MNT_DETACH);
  }
}

void SmallDisk::fill(std::uintmax_t left) const {
  const std::uintmax_t free = std::filesystem::space(path()).available;
  std::ofstream file(ballast(), std::ios::binary);
  const std::string block(65536, 'x');
  for (std::uintmax_t written = 0; written + left < free; written += block.size()) {
    file << block;
  }
}

void SmallDisk::make_room() const {
  std::filesystem::remove(ballast());
}

Replicated::Replicated()
    : servers_({.shards = 3, .servers = 0, .extra_args = replication_arguments()}),
      to_first_(servers_.socket(0)),
      to_second_(servers_.socket(1)),
      to_shard_(servers_.socket(0)) {
  start_replica(servers_, 1, to_first_.port());
  make_account_and_file(servers_, to_shard_, 2);
  for (const std::uint32_t server : {0U, 2U}) {
    servers_.server_sql(server, "GRANT SELECT ON performance_schema.* TO app@localhost");
  }
}

void Replicated::demote() const {
  servers_.server_sql(primary_, on_mysql() ? "SET GLOBAL super_read_only = 1" : "SET GLOBAL read_only = 1");
}

void Replicated::promote() {
  end_replica(servers_, replica(), log_end(servers_, primary_));
  promoted_at_ = log_end(servers_, replica());
  servers_.server_sql(replica(), "SET GLOBAL read_only = 0");
  lead_to_replica();
  primary_ = replica();
}

void Replicated::rejoin() {
  start_replica(servers_, replica(), (primary_ == 0 ? to_first_ : to_second_).port(), promoted_at_);
}

void Replicated::lead_to_replica() {
  to_shard_.lead_to(servers_.socket(replica()));
}

}  // namespace looseleaf::test

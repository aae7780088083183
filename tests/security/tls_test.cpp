// The five ssl modes against servers whose certificates are right or wrong in each way that matters, over TCP.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config/connection_settings.hpp"
#include "sql/connection.hpp"
#include "tests/support/relay.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {
namespace {

constexpr std::array<SslMode, 5> modes = {SslMode::disabled, SslMode::preferred, SslMode::required, SslMode::verify_ca,
                                          SslMode::verify_identity};
#ifdef LOOSELEAF_CONNECTOR_8
constexpr bool mariadb_client = false;
#else
constexpr bool mariadb_client = true;
#endif

void openssl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "openssl");
  if (const cli::ProcessResult result = run(std::move(arguments)); result.status != 0) {
    throw std::runtime_error("openssl: " + result.err);
  }
}

// Authorities and server certificates, made anew in a folder.
class Certificates {
 public:
  Certificates() {
    for (const std::string authority : {"ours", "theirs"}) {
      openssl({"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + authority, "-keyout",
               path(authority + ".key"), "-out", path(authority + ".pem")});
    }
    openssl({"req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=server", "-keyout", path("server.key"), "-out",
             path("server.csr")});
    sign("good", "localhost", "ours", "2");
    sign("wrong name", "elsewhere.test", "ours", "2");
    sign("expired", "localhost", "ours", "-1");
    sign("unknown authority", "localhost", "theirs", "2");
    std::ofstream all(path("all.pem"));
    for (const std::string authority : {"ours", "theirs"}) {
      all << std::ifstream(path(authority + ".pem")).rdbuf();
    }
    present("good");
  }

  [[nodiscard]] std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  // The server shows this certificate once it was told to load it anew.
  void present(const std::string& name) const {
    std::filesystem::copy_file(path(name), path("server.pem"), std::filesystem::copy_options::overwrite_existing);
  }

 private:
  void sign(const std::string& name, const std::string& host, const std::string& authority, const char* days) const {
    const std::string extensions = directory_.write("extensions", "subjectAltName=DNS:" + host + "\n");
    openssl({"x509", "-req", "-in", path("server.csr"), "-CA", path(authority + ".pem"), "-CAkey",
             path(authority + ".key"), "-CAcreateserial", "-days", days, "-extfile", extensions, "-out", path(name)});
  }

  TemporaryDirectory directory_;
};

enum class Outcome { plain, encrypted, refused };

// One server behind a port, an account that may come from there, and what the modes make of it.
class Server {
 public:
  explicit Server(const std::vector<std::string>& arguments)
      : cluster_({.shards = 1, .servers = 0, .extra_args = arguments}), relay_(cluster_.socket(0)) {
    if (cluster_.looseleaf({"init", "--quiet"}).status != 0) {
      throw std::runtime_error("init fails");
    }
  }

  // From now on clients know these authorities; empty: none.
  void trust(const std::string& authorities) {
    file_ = cluster_.directory().write(
        "tcp.json", fmt::format(R"({{"shards": ["localhost:{}/{}"], "user": "root", "ssl_ca": "{}",
                                "defaults_file": "{}"}})",
                                relay_.port(), cluster_.database(0), authorities, cluster_.defaults_file()));
  }

  void reload() const {
    cluster_.server_sql(0, looseleaf_flavour() == "mysql" ? "ALTER INSTANCE RELOAD TLS" : "FLUSH SSL");
  }

  // What a session says of itself, or that there is none.
  [[nodiscard]] Outcome outcome(SslMode mode) const {
    const Cluster cluster = Cluster::load(file_);
    const sql::ConnectOptions options = config::ConnectionSettings(cluster, {{}, mode}).of(cluster.shards.at(0));
    try {
      sql::Connection connection(options);
      const bool plain = connection.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'").text(0, 1).empty();
      return plain ? Outcome::plain : Outcome::encrypted;
    } catch (const sql::ServerError& error) {
      CHECK_FALSE(error.retryable());
      return Outcome::refused;
    }
  }

  [[nodiscard]] cli::ProcessResult status(SslMode mode) const {
    return run({"looseleaf", "--cluster", file_, "status", "--ssl-mode", std::string(to_string(mode))});
  }

 private:
  TestCluster cluster_;
  Relay relay_;
  std::string file_;
};

constexpr const char* not_verified = "a TLS connection cannot be established";
constexpr const char* not_encrypted = "the connection is not encrypted";

using Outcomes = std::array<Outcome, 5>;  // in the order of `modes`

void check(const Server& server, const Outcomes& expected, const std::array<const char*, 5>& what) {
  for (std::size_t i = 0; i < modes.size(); ++i) {
    CAPTURE(to_string(modes[i]));
    CHECK(server.outcome(modes[i]) == expected[i]);
    const cli::ProcessResult result = server.status(modes[i]);
    CAPTURE(result.err);
    const bool refused = expected[i] == Outcome::refused;
    CHECK(result.status == (refused ? 3 : 0));
    CHECK((result.err.find(fmt::format("looseleaf: error: {}\n", what[i])) != std::string::npos) == refused);
    CHECK((result.err.find("hint: ") != std::string::npos) == refused);
  }
}

TEST_CASE("each ssl mode accepts what it promises and nothing weaker") {
  using enum Outcome;
  const Certificates certificates;
  Server server({"--ssl-ca=" + certificates.path("all.pem"), "--ssl-cert=" + certificates.path("server.pem"),
                 "--ssl-key=" + certificates.path("server.key")});
  // MariaDB's client library looks at the chain whenever it is given an authority, and at the name whenever it
  // verifies.
  const Outcome by_chain = mariadb_client ? refused : encrypted;
  const Outcome by_name = mariadb_client ? refused : encrypted;
  const std::vector<std::pair<std::string, Outcomes>> cases = {
      {"good", {plain, encrypted, encrypted, encrypted, encrypted}},
      {"wrong name", {plain, encrypted, encrypted, by_name, refused}},
      {"expired", {plain, by_chain, by_chain, refused, refused}},
      {"unknown authority", {plain, by_chain, by_chain, refused, refused}}};
  for (const auto& [certificate, with_authority] : cases) {
    CAPTURE(certificate);
    certificates.present(certificate);
    if (certificate == "expired" && looseleaf_flavour() == "mysql") {
      CHECK_THROWS(server.reload());  // such a server shows no certificate that has expired
      continue;
    }
    server.reload();
    const std::array<const char*, 5> what = {"", not_verified, not_verified, not_verified, not_verified};
    server.trust(certificates.path("ours.pem"));
    check(server, with_authority, what);
    server.trust("");
    check(server, {plain, encrypted, encrypted, refused, refused}, what);
  }
}

TEST_CASE("a server without tls is refused by every mode that requires it") {
  using enum Outcome;
  const Certificates certificates;
  Server server({looseleaf_flavour() == "mysql" ? "--tls-version=" : "--skip-ssl"});
  server.trust(certificates.path("ours.pem"));
  check(server, {plain, plain, refused, refused, refused}, {"", "", not_encrypted, not_verified, not_verified});
}

}  // namespace
}  // namespace looseleaf::test

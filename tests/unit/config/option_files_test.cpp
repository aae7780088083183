// Option files: syntax, order, permissions, and how they are merged with the cluster file.
#include "config/option_files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <looseleaf/error.hpp>
#include <string>
#include <thread>

#include "config/connection_settings.hpp"
#include "tests/support/errors.hpp"

namespace looseleaf::config {
namespace {

// A directory that is also $HOME, so that the developer's own ~/.my.cnf plays no part.
class Files {
 public:
  Files() {
    std::string name = (std::filesystem::temp_directory_path() / "looseleaf-options-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    directory_ = name;
    setenv("HOME", directory_.c_str(), 1);
    unsetenv("LOOSELEAF_PASSWORD_FILE");
  }
  ~Files() {
    unsetenv("LOOSELEAF_PASSWORD_FILE");
    std::filesystem::remove_all(directory_);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
    REQUIRE(chmod(path(name).c_str(), mode) == 0);
    return path(name);
  }

 private:
  std::string directory_;
};

OptionFileValues read_group(const std::string& file, const std::string& group) {
  return read_option_files(file, {group}).at(group);
}

sql::ConnectOptions resolve(Cluster cluster, const ShardConfig& shard, const Overrides& overrides) {
  cluster.shards = {shard};
  return ConnectionSettings(cluster, overrides).of(shard);
}

// The line that is complained about.
std::string failing_line(const std::string& file) {
  try {
    static_cast<void>(read_group(file, ""));
    return "(read)";
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_cluster);
    CHECK_FALSE(error.hint().empty());
    return test::context_of(error, "line");
  }
}

TEST_CASE("values are read as the servers' own clients read them") {
  const Files files;
  const std::pair<std::string, std::string> cases[] = {
      {"password=simple", "simple"},
      {"  password =  spaces round it  ", "spaces round it"},
      {"password=\"in quotes \"", "in quotes "},
      {"password='single'", "single"},
      {"password=cut # comment", "cut"},
      {"password=\"with # inside\"", "with # inside"},
      {"password='it''s'", "it''s"},
      {"password=\"say \\\"hi\\\" #1\" # comment", "say \"hi\" #1"},
      {"password=a\\tb\\sc\\\\d\\q", "a\tb c\\d\\q"},
      {"password=", ""},
      {"password=a=b", "a=b"},
      {"PASSWORD=x\r", "x"},
      {"loose-password=x", "x"},
      {"loose_password=x", "x"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.first);
    const auto values = read_group(files.write("my.cnf", "[client]\n" + c.first + "\n"), "");
    CHECK(values.password_given);
    CHECK(values.password == c.second);
  }
}

TEST_CASE("a password without a value is no password") {
  const Files files;
  CHECK_FALSE(read_group(files.write("my.cnf", "[client]\npassword\n"), "").password_given);
}

TEST_CASE("other groups, comments and unknown options are passed over") {
  const Files files;
  const auto values = read_group(files.write("my.cnf",
                                             "# a\n; b\n[mysqld]\nuser=mysql\nskip-networking\n"
                                             "[client]\nlocal-infile=1\nno-such=1\nuser=app\n[mysql]\nuser=x\n"),
                                 "");
  CHECK(values.user == "app");
}

TEST_CASE("a later group wins over an earlier one, wherever they stand") {
  const Files files;
  const std::string file = files.write("my.cnf",
                                       "[shard2]\nuser=c\n[looseleaf]\nuser=b\nssl-ca=b.pem\n[client]\nuser=z\nuser=a\n"
                                       "ssl-ca=a.pem\nssl-key=a.key\n");
  const auto without = read_group(file, "");
  CHECK(without.user == "b");
  CHECK(without.tls.ca == "b.pem");
  CHECK(without.tls.key == "a.key");
  CHECK(read_group(file, "shard2").user == "c");
  CHECK(read_group(file, "absent").user == "b");
}

TEST_CASE("tls settings come in the words of either vendor") {
  const Files files;
  const std::pair<std::string, std::optional<SslMode>> cases[] = {
      {"ssl-mode=VERIFY_IDENTITY", SslMode::verify_identity},
      {"ssl_mode=verify-ca", SslMode::verify_ca},
      {"ssl-mode=disabled", SslMode::disabled},
      {"ssl", SslMode::required},
      {"ssl=0", SslMode::disabled},
      {"skip-ssl", SslMode::disabled},
      {"disable_ssl", SslMode::disabled},
      {"ssl-verify-server-cert", SslMode::verify_identity},
      {"ssl-verify-server-cert=on\nssl=1", SslMode::verify_identity},
      {"skip-ssl-verify-server-cert", std::nullopt},
      {"ssl-verify-server-cert\nssl-verify-server-cert=OFF", SslMode::required},
      {"skip-ssl\nskip-ssl-verify-server-cert", SslMode::disabled},
      {"ssl-mode=verify-ca\n[looseleaf]\ndisable-ssl-verify-server-cert", SslMode::required},
      {"skip-ssl  # was: ssl-mode=required", SslMode::disabled},
      {"ssl-ca=x", std::nullopt},
  };
  for (const auto& c : cases) {
    CAPTURE(c.first);
    CHECK(read_group(files.write("my.cnf", "[client]\n" + c.first + "\n"), "").tls.mode == c.second);
  }
  const auto values =
      read_group(files.write("my.cnf", "[client]\nssl-ca=1\nssl_capath=2\nssl-cert=3\nssl-key=4\n"), "");
  CHECK(values.tls == TlsSettings{{}, "1", "2", "3", "4"});
}

TEST_CASE("includes are followed where they stand, directories in order of name") {
  const Files files;
  files.write("conf.d/20.cnf", "[client]\nuser=twenty\n");
  files.write("conf.d/10.cnf", "[client]\nuser=ten\nssl-ca=ten.pem\n");
  files.write("conf.d/30.txt", "[client]\nuser=thirty\n");
  files.write("one.cnf", "[client]\nssl-key=one.key\n");
  const auto values = read_group(
      files.write("my.cnf", "[client]\nuser=first\n!includedir conf.d\n!include " + files.path("one.cnf") + "\n"), "");
  CHECK(values.user == "twenty");
  CHECK(values.tls.ca == "ten.pem");
  CHECK(values.tls.key == "one.key");
}

TEST_CASE("what cannot be understood is refused with its line") {
  const Files files;
  const std::pair<std::string, std::string> cases[] = {
      {"[client\nuser=a\n", "1"},
      {"user=a\n", "1"},
      {"[client]\n\n=a\n", "3"},
      {"[client]\nssl-mode=perhaps\n", "2"},
      {"!inclde x\n", "1"},
      {"!include absent.cnf\n", "-"},
      {"[client]\n!includedir absent\n", "2"},
      {"!include my.cnf\n", "1"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.first);
    CHECK(failing_line(files.write("my.cnf", c.first)) == c.second);
  }
}

TEST_CASE("a named file must be there, the usual ones need not") {
  const Files files;
  CHECK_THROWS_AS(static_cast<void>(read_group(files.path("absent"), "")), Error);
  CHECK_THROWS_AS(static_cast<void>(read_group(files.path("."), "")), Error);
  CHECK_NOTHROW(static_cast<void>(read_group("", "")));
  files.write(".my.cnf", "[looseleaf]\nuser=home\n");
  CHECK(read_group("", "").user == "home");
  CHECK(read_group("~/.my.cnf", "").user == "home");
}

TEST_CASE("a password that others may read is refused, and never shown") {
  const Files files;
  const std::string with_password = "[client]\npassword=hunter2\n";
  for (const mode_t mode : {0644U, 0604U, 0602U}) {
    const std::string file = files.write("my.cnf", with_password, mode);
    const Error error = test::error_of([&] { return read_group(file, ""); });
    CHECK(error.code() == ErrorCode::bad_cluster);
    CHECK(test::context_of(error, "file") == file);
    CHECK(error.hint().find("chmod") != std::string::npos);
  }
  CHECK(read_group(files.write("my.cnf", with_password, 0640), "").password == "hunter2");
  CHECK(read_group(files.write("my.cnf", "[client]\nuser=a\n[mysqld]\npassword=x\n", 0644), "").user == "a");
}

TEST_CASE("a secret tls key that others may read is refused where tls is used") {
  const Files files;
  const std::string options = files.write("my.cnf", "");
  ShardConfig shard;
  shard.tls.key = files.write("client.key", "key");
  const auto with_mode = [&](SslMode mode) { return resolve({}, shard, {options, mode}); };
  CHECK(with_mode(SslMode::required).tls.key == shard.tls.key);
  files.write("client.key", "key", 0640);
  CHECK(with_mode(SslMode::required).tls.key == shard.tls.key);
  files.write("client.key", "key", 0644);
  CHECK(with_mode(SslMode::disabled).tls.key == shard.tls.key);
  for (const SslMode mode : {SslMode::preferred, SslMode::required, SslMode::verify_ca, SslMode::verify_identity}) {
    const Error error = test::error_of([&] { return with_mode(mode); });
    CHECK(error.code() == ErrorCode::bad_cluster);
    CHECK(std::string(error.what()) == "the TLS private key file is accessible to other users");
    CHECK(test::context_of(error, "file") == shard.tls.key);
    CHECK(error.hint() == "run chmod o-rw on the file");
  }
}

TEST_CASE("explicit settings win over option files: the caller's, the shard's, the cluster's") {
  const Files files;
  Cluster cluster;
  cluster.defaults_file =
      files.write("my.cnf", "[client]\nuser=file\npassword=p\nssl-mode=required\nssl-ca=file.pem\n[s2]\npassword=q\n");
  ShardConfig shard;
  shard.address.host = "db.example";
  shard.database = "looseleaf_2";

  auto options = resolve(cluster, shard, {});
  CHECK(options.user == "file");
  CHECK(options.password == "p");
  CHECK(options.tls.mode == SslMode::required);
  CHECK(options.tls.ca == "file.pem");
  CHECK(options.address == shard.address);
  CHECK(options.database == "looseleaf_2");

  cluster.user = "cluster";
  cluster.tls.mode = SslMode::verify_ca;
  cluster.tls.ca = "cluster.pem";
  options = resolve(cluster, shard, {});
  CHECK(options.user == "cluster");
  CHECK(options.tls.mode == SslMode::verify_ca);
  CHECK(options.tls.ca == "cluster.pem");

  shard.user = "shard";
  shard.option_group = "s2";
  shard.tls.mode = SslMode::preferred;
  options = resolve(cluster, shard, {});
  CHECK(options.user == "shard");
  CHECK(options.password == "q");
  CHECK(options.tls.mode == SslMode::preferred);
  CHECK(options.tls.ca == "cluster.pem");

  shard.option_group = "s3";
  CHECK(std::string(test::error_of([&] { static_cast<void>(resolve(cluster, shard, {})); }).what()) ==
        "no option file has the group of this shard");

  const std::string other = files.write("other.cnf", "[client]\npassword=other\n");
  options = resolve(cluster, shard, {other, SslMode::disabled});
  CHECK(options.password == "other");
  CHECK(options.tls.mode == SslMode::disabled);
}

TEST_CASE("without any mode the place of the server decides") {
  const Files files;
  const std::pair<std::string, SslMode> cases[] = {
      {"db.example", SslMode::verify_identity},
      {"10.0.0.1", SslMode::verify_identity},
      {"127.0.0.1", SslMode::preferred},
      {"127.9.9.9", SslMode::preferred},
      {"::1", SslMode::preferred},
      {"localhost", SslMode::preferred},
      {"127.evil.example", SslMode::verify_identity},
  };
  ShardConfig shard;
  const Overrides no_options{files.write("empty.cnf", ""), {}};
  const Overrides unverified{files.write("unverified.cnf", "[client]\ndisable-ssl-verify-server-cert\n"), {}};
  for (const auto& c : cases) {
    CAPTURE(c.first);
    shard.address.host = c.first;
    CHECK(resolve({}, shard, no_options).tls.mode == c.second);
    CHECK(resolve({}, shard, unverified).tls.mode == std::min(c.second, SslMode::required));
  }
  shard.address = {"", 0, "/run/mysqld/a.sock"};
  CHECK(resolve({}, shard, no_options).tls.mode == SslMode::disabled);
  CHECK(resolve({}, shard, unverified).tls.mode == SslMode::disabled);
}

TEST_CASE("the first line of the password file beats the option files") {
  const Files files;
  Cluster cluster;
  cluster.defaults_file = files.write("my.cnf", "[client]\npassword=from options\n");
  const auto with_file = [&](const std::string& file) {
    setenv("LOOSELEAF_PASSWORD_FILE", file.c_str(), 1);
    return resolve(cluster, {}, {});
  };
  CHECK(with_file(files.write("password", "s3cret # \r\nsecond line\n")).password == "s3cret # ");
  const auto empty = with_file(files.write("password", "\n"));
  CHECK(empty.password.empty());
  CHECK(empty.password_given);
  CHECK_THROWS_AS(with_file(files.write("password", "x\n", 0644)), Error);
  CHECK_THROWS_AS(with_file(files.path("absent")), Error);
  CHECK(std::string(test::error_of([&] { return with_file(files.write("password", "")); }).what()) ==
        "the password file is empty");
  CHECK_THROWS_AS(with_file(files.path(".")), Error);
}

// A pipe can be read once.
TEST_CASE("password and option files are read once for all shards, and again only if they are regular files") {
  const Files files;
  Cluster cluster;
  cluster.defaults_file = files.path("options");
  cluster.shards.resize(3);
  cluster.shards[1].option_group = "s1";
  cluster.shards[2].option_group = "s2";
  const std::string password = files.path("password");
  setenv("LOOSELEAF_PASSWORD_FILE", password.c_str(), 1);
  for (const std::string& pipe : {cluster.defaults_file, password}) {
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  }
  std::thread writer([&] {
    std::ofstream(password) << "s3cret";
    std::ofstream(cluster.defaults_file) << "[client]\nuser=all\n[s1]\nuser=one\n[s2]\nuser=two\n";
  });
  const ConnectionSettings settings(cluster, {});
  writer.join();
  CHECK(settings.of(cluster.shards[0]).user == "all");
  CHECK(settings.of(cluster.shards[1]).user == "one");
  CHECK(settings.of(cluster.shards[2]).user == "two");
  for (const ShardConfig& shard : cluster.shards) {
    CHECK(settings.of(shard).password == "s3cret");
  }
  const auto why_not = [](const ConnectionSettings& known) {
    return std::string(test::error_of([&] { static_cast<void>(known.read_again()); }).what());
  };
  CHECK(why_not(settings) == "only a regular file can be read again");

  cluster.defaults_file = files.write("my.cnf", "[client]\n[s1]\n[s2]\n");
  setenv("LOOSELEAF_PASSWORD_FILE", files.write("password.txt", "old").c_str(), 1);
  const ConnectionSettings of_file(cluster, {});
  files.write("password.txt", "new");
  CHECK(of_file.of(cluster.shards[0]).password == "old");
  CHECK(of_file.read_again().of(cluster.shards[0]).password == "new");
  files.write("password.txt", "new", 0644);
  CHECK(why_not(of_file) == "a file with a password is accessible to other users");
}

TEST_CASE("without a password nothing pretends that one was given") {
  const Files files;
  const auto options = resolve({}, {}, {files.write("empty.cnf", ""), {}});
  CHECK_FALSE(options.password_given);
  CHECK_FALSE(options.user.empty());
}

}  // namespace
}  // namespace looseleaf::config

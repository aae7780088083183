// Reads and checks the cluster file.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <looseleaf/cluster.hpp>
#include <looseleaf/error.hpp>
#include <utility>

#include "base/text.hpp"
#include "config/limits.hpp"
#include "model/json/json_document.hpp"

namespace looseleaf {
namespace {

using model::JsonDocument;
using model::JsonObject;

constexpr std::size_t max_database_length = 64;
constexpr const char* string_form = "write \"host:port/database\"; put an IPv6 address in brackets";

// The place in the file that an error about a shard or replica names.
struct Place {
  const JsonDocument& document;
  std::string pointer;

  [[noreturn]] void fail(const std::string& what, const std::string& hint) const {
    document.fail_at_value(pointer, what, hint);
  }
};

// Resolves a path: relative paths are relative to the folder of the cluster file, and ~ is the home directory.
std::string resolve(const std::string& path, const std::string& cluster_file) {
  if (path.empty() || path.front() == '/') {
    return path;
  }
  if (path == "~" || path.rfind("~/", 0) == 0) {
    const char* home = std::getenv("HOME");
    return home != nullptr ? home + path.substr(1) : path;
  }
  const std::filesystem::path folder = std::filesystem::absolute(cluster_file).parent_path();
  return (folder / path).lexically_normal().string();
}

std::uint16_t parse_port(std::string_view text, const Place& place) {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || at != end || port == 0) {
    place.fail("invalid port number", "use a number from 1 to 65535");
  }
  return port;
}

// With one colon, a port was meant; an IPv6 address has more.
bool is_host(std::string_view text) {
  return !text.empty() && text.find_first_of("/[]") == std::string_view::npos &&
         std::count(text.begin(), text.end(), ':') != 1;
}

// Accepts "host", "host:port" and "[address]:port".
Address parse_host_and_port(std::string_view text, const Place& place) {
  Address address;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) {
      place.fail("invalid address", string_form);
    }
    address.host = text.substr(1, close - 1);
    port = text.substr(close + 1);
  } else {
    const std::size_t colon = text.find(':');
    address.host = text.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (!is_host(address.host) || (!port.empty() && port.front() != ':') || port.rfind(':') != port.find(':')) {
    place.fail("invalid address", string_form);
  }
  if (!port.empty()) {
    address.port = parse_port(port.substr(1), place);
  }
  return address;
}

void check_database(const std::string& name, const Place& place) {
  const bool has_control =
      std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  if (name.empty() || base::utf8_length(name) > max_database_length || name.back() == ' ' || has_control ||
      base::beyond_bmp(name)) {
    place.fail(
        "invalid database name",
        fmt::format(
            "a database name has 1 to {} characters, none of them a control character or beyond U+FFFF, and does "
            "not end in a space",
            max_database_length));
  }
}

ShardConfig parse_shard_string(std::string_view text, const Place& place) {
  if (!text.empty() && text.front() == '/') {
    place.fail("invalid address", "write a socket as an object: {\"socket\": \"/path\"}");
  }
  ShardConfig shard;
  const std::size_t slash = text.find('/');
  shard.address = parse_host_and_port(text.substr(0, slash), place);
  if (slash != std::string_view::npos) {
    shard.database = text.substr(slash + 1);
    check_database(shard.database, place);
  }
  return shard;
}

// Rejects passwords before other unknown keys, because their hint must not suggest a similar key.
void reject_passwords(const JsonObject& object) {
  for (const char* key : {"password", "passwd", "pwd", "pass"}) {
    if (object.has(key)) {
      object.fail_at_key(key, "the cluster file contains a password",
                         "put it into an option file ([client] or [looseleaf]) or name a file with it in "
                         "LOOSELEAF_PASSWORD_FILE");
    }
  }
}

TlsSettings parse_tls(const JsonObject& object, const std::string& file) {
  TlsSettings tls;
  if (const std::optional<std::string> mode = object.string("ssl_mode")) {
    tls.mode = parse_ssl_mode(*mode);
    if (!tls.mode) {
      object.fail_at_value("ssl_mode", "unknown ssl_mode",
                           "use disabled, preferred, required, verify-ca or verify-identity");
    }
  }
  tls.ca = resolve(object.string("ssl_ca").value_or(""), file);
  tls.ca_path = resolve(object.string("ssl_capath").value_or(""), file);
  tls.cert = resolve(object.string("ssl_cert").value_or(""), file);
  tls.key = resolve(object.string("ssl_key").value_or(""), file);
  return tls;
}

Address parse_address(const JsonObject& object, const std::string& file) {
  Address address;
  if (const std::optional<std::string> socket = object.string("socket")) {
    if (socket->empty() || object.has("host") || object.has("port")) {
      object.fail_at_key("socket", "socket is empty or combined with host or port",
                         "give the shard either a socket, or a host and a port");
    }
    address.socket = resolve(*socket, file);
    return address;
  }
  address.host = object.string("host").value_or("");
  if (address.host.empty()) {
    object.fail("shard has no address", "give it a host and a port, or a socket");
  }
  if (!is_host(address.host)) {
    object.fail_at_value(
        "host", "invalid address",
        R"(give the host alone, an IPv6 address without brackets, and beside it a "port" and a "database")");
  }
  const std::int64_t port = object.integer("port").value_or(address.port);
  if (port < 1 || port > 65535) {
    object.fail_at_value("port", "invalid port number", "use a number from 1 to 65535");
  }
  address.port = static_cast<std::uint16_t>(port);
  return address;
}

// Reads replicas, which are strings: "host:port" or the absolute path of a socket.
std::vector<Address> parse_replicas(const JsonDocument& document, const JsonObject& object) {
  std::vector<Address> replicas;
  const nlohmann::json* list = object.array("replicas");
  if (list == nullptr) {
    return replicas;
  }
  for (const nlohmann::json& entry : *list) {
    const Place place{document, model::pointer_to(object.pointer_to("replicas"), replicas.size())};
    if (!entry.is_string()) {
      place.fail("value has the wrong type", "write a replica as a string: \"host:port\" or the path of a socket");
    }
    const auto& text = entry.get_ref<const std::string&>();
    if (!text.empty() && text.front() == '/') {
      replicas.push_back(Address{{}, Address().port, text});
    } else {
      replicas.push_back(parse_host_and_port(text, place));
    }
  }
  return replicas;
}

ShardConfig parse_shard_object(const JsonDocument& document, const JsonObject& object, const std::string& file) {
  reject_passwords(object);
  object.allow_only({"host", "port", "socket", "database", "user", "option_group", "ssl_mode", "ssl_ca", "ssl_capath",
                     "ssl_cert", "ssl_key", "replicas"});
  ShardConfig shard;
  shard.address = parse_address(object, file);
  if (std::optional<std::string> database = object.string("database")) {
    check_database(*database, Place{document, object.pointer_to("database")});
    shard.database = *std::move(database);
  }
  shard.user = object.string("user").value_or("");
  shard.option_group = object.string("option_group").value_or("");
  shard.tls = parse_tls(object, file);
  shard.replicas = parse_replicas(document, object);
  return shard;
}

bool same_place(const ShardConfig& a, const ShardConfig& b) {
  return a.database == b.database && a.address.socket == b.address.socket && a.address.port == b.address.port &&
         base::ascii_lower(a.address.host) == base::ascii_lower(b.address.host);
}

void require_none(const JsonObject& root, const std::string& key, const std::optional<config::Fault>& fault) {
  if (fault) {
    root.fail_at_value(key, fault->what, fault->hint);
  }
}

std::vector<ShardConfig> parse_shards(const JsonDocument& document, const JsonObject& root, const std::string& file) {
  const nlohmann::json* list = root.array("shards");
  if (list == nullptr) {
    root.fail("no shards", "list at least one: \"shards\": [\"127.0.0.1:3306\"]");
  }
  require_none(root, "shards", config::fault_of_shard_count(list->size()));
  std::vector<ShardConfig> shards;
  for (const nlohmann::json& entry : *list) {
    const Place place{document, model::pointer_to(root.pointer_to("shards"), shards.size())};
    ShardConfig shard =
        entry.is_string()
            ? parse_shard_string(entry.get_ref<const std::string&>(), place)
            : parse_shard_object(
                  document, JsonObject(document, place.pointer, entry, "write a shard as a string or an object"), file);
    if (std::any_of(shards.begin(), shards.end(), [&](const auto& other) { return same_place(shard, other); })) {
      place.fail("two shards have the same database",
                 "give each shard a database of its own; shards may share a server");
    }
    shards.push_back(std::move(shard));
  }
  return shards;
}

std::uint32_t parse_max_connections(const JsonObject& root) {
  const std::int64_t limit = root.integer("max_connections").value_or(default_connections);
  require_none(root, "max_connections", config::fault_of_max_connections(limit));
  return static_cast<std::uint32_t>(limit);
}

std::chrono::milliseconds parse_timeout(const JsonObject& root) {
  using Seconds = std::chrono::duration<double>;
  const std::optional<double> seconds = root.number("timeout");
  if (!seconds) {
    return default_timeout;
  }
  require_none(root, "timeout", config::fault_of_timeout(Seconds(*seconds)));
  return std::chrono::round<std::chrono::milliseconds>(Seconds(*seconds));
}

std::optional<Uuid> parse_cluster_id(const JsonObject& root) {
  const std::optional<std::string> text = root.string("cluster_id");
  if (!text) {
    return std::nullopt;
  }
  const std::optional<Uuid> id = Uuid::parse(*text);
  if (!id) {
    root.fail_at_value("cluster_id", "cluster_id is not a UUID", "copy the one that `looseleaf init` printed");
  }
  return id;
}

}  // namespace

Cluster Cluster::load(const std::string& path) {
  return parse(
      model::read_file(ErrorCode::bad_cluster, path, "name the cluster file with --cluster or LOOSELEAF_CLUSTER"),
      path);
}

Cluster Cluster::parse(std::string_view text, const std::string& path) {
  const JsonDocument document(ErrorCode::bad_cluster, text, path);
  const JsonObject root(document);
  reject_passwords(root);
  root.allow_only({"$schema", "cluster_id", "shards", "user", "defaults_file", "ssl_mode", "ssl_ca", "ssl_capath",
                   "ssl_cert", "ssl_key", "max_connections", "timeout"});
  static_cast<void>(root.string("$schema"));  // only its type is checked
  Cluster cluster;
  cluster.file = path;
  cluster.cluster_id = parse_cluster_id(root);
  cluster.shards = parse_shards(document, root, path);
  cluster.user = root.string("user").value_or("");
  cluster.defaults_file = resolve(root.string("defaults_file").value_or(""), path);
  cluster.tls = parse_tls(root, path);
  cluster.max_connections = parse_max_connections(root);
  cluster.timeout = parse_timeout(root);
  return cluster;
}

}  // namespace looseleaf

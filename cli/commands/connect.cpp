// Opens the store.
#include "cli/commands/connect.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/text.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/password.hpp"

namespace looseleaf::cli {
namespace {

std::string find_cluster_file(const Globals& globals) {
  if (!globals.cluster.empty()) {
    return globals.cluster;
  }
  if (const char* variable = std::getenv("LOOSELEAF_CLUSTER")) {
    if (*variable == '\0') {  // probably of a command that failed; another store would be a surprise
      throw Error(ErrorCode::usage, "LOOSELEAF_CLUSTER is empty", {},
                  "set it to the path of a cluster file, or unset it to use ./looseleaf.json or "
                  "/etc/looseleaf/cluster.json");
    }
    return variable;
  }
  for (const char* path : {"./looseleaf.json", "/etc/looseleaf/cluster.json"}) {
    if (::access(path, F_OK) == 0) {
      return path;
    }
  }
  throw Error(ErrorCode::bad_cluster, "no cluster file", {},
              "give --cluster FILE, set LOOSELEAF_CLUSTER, or write ./looseleaf.json or /etc/looseleaf/cluster.json");
}

// Absent if neither an option nor the environment sets it.
std::optional<std::chrono::milliseconds> find_timeout(const Globals& globals) {
  std::optional<double> seconds = globals.timeout;
  const char* variable = std::getenv("LOOSELEAF_TIMEOUT");
  if (!seconds && variable != nullptr && *variable != '\0') {
    seconds = parse_seconds("LOOSELEAF_TIMEOUT", variable, "variable");
  }
  return seconds ? std::optional(std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(*seconds)))
                 : std::nullopt;
}

looseleaf::Options store_options(const Globals& globals) {
  looseleaf::Options options;
  options.timeout = find_timeout(globals);
  options.defaults_file = globals.defaults_file;
  if (globals.max_connections) {
    options.max_connections = static_cast<std::uint32_t>(*globals.max_connections);
  }
  if (!globals.ssl_mode.empty()) {
    options.ssl_mode = parse_ssl_mode(globals.ssl_mode);
  }
  return options;
}

// Hints name commands for the usual cluster.
std::string for_cluster(std::string hint, const std::string& file) {
  constexpr std::string_view program = "`looseleaf ";
  const std::string option = fmt::format("--cluster {} ", base::shell_word(file));
  for (std::size_t at = 0; (at = hint.find(program, at)) != std::string::npos; at += program.size()) {
    hint.insert(at + program.size(), option);
  }
  return hint;
}

looseleaf::Options with_messages(looseleaf::Options options) {
  options.on_warning = [](const Warning& warning) { print_warning(warning.what, warning.context, warning.hint); };
  options.ask_password = ask_password;
  return options;
}

}  // namespace

Cluster load_cluster(const Globals& globals) {
  const std::string file = find_cluster_file(globals);
  if (globals.verbose) {
    print_note(fmt::format("cluster file {}", file));
  }
  return Cluster::load(file);
}

Datastore open_store(const Globals& globals, Waits waits) {
  looseleaf::Options options = with_messages(store_options(globals));
  options.warn_of_waits = waits == Waits::warned_of;
  return Datastore::open(load_cluster(globals), std::move(options));
}

Datastore open_other_store(const std::string& cluster_file, const Globals& globals) {
  looseleaf::Options options = with_messages(store_options(globals));
  options.defaults_file.clear();
  options.on_warning = [cluster_file](const Warning& warning) {
    Error::Context context = warning.context;
    context.emplace_back("cluster_file", cluster_file);
    print_warning(warning.what, context, for_cluster(warning.hint, cluster_file));
  };
  if (::access(cluster_file.c_str(), R_OK) != 0) {
    throw Error(ErrorCode::bad_cluster, "cannot read the other cluster's file",
                {{"file", cluster_file}, {"reason", std::strerror(errno)}}, "check the name of this file");
  }
  return Datastore::open(Cluster::load(cluster_file), std::move(options));
}

Datastore open_store_silently(const Globals& globals) {
  return Datastore::open(load_cluster(globals), store_options(globals));
}

}  // namespace looseleaf::cli

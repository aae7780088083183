// The table of server and client library errors, with class, text and hint.
#include "sql/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace looseleaf::sql {
namespace {

struct Advice {
  int number;
  std::string_view what;
  std::string_view hint;
};

constexpr int cr_server_lost = 2013, cr_tls = 2026;

constexpr std::string_view free_space = "make room on the server's disk, then run the command again";
constexpr std::string_view check_account =
    "check the user in the cluster file, and user and password in the option files";
constexpr std::string_view check_tls = "check ssl_mode and the ssl files, and that the server has TLS set up";
constexpr std::string_view grow_packet = "raise max_allowed_packet on the server";
constexpr std::string_view join_group =
    "make the cluster file lead to the group's primary, or let the server join again";
constexpr std::string_view wait_for_primary = "wait until the group has a primary with a majority";
constexpr std::string_view restore_table =
    "restore the table from a backup; an index can also be dropped and created again";

constexpr int er_too_many_of_user = 1203;

// Sorted by number. An error that is not in the table gets the text of its class.
constexpr auto advice_table = std::to_array<Advice>({
    {1021, "the server's disk is full", free_space},
    {1040, "the server has too many connections", "raise max_connections on the server, or run fewer commands at once"},
    {1044, "the server denied access to the database", "grant the user what its role needs on the shard's database"},
    {1045, "the server denied access", check_account},
    {1049, "the database does not exist", "run `looseleaf init` to create what is missing"},
    {1114, "a table or tablespace is full", free_space},
    {1129, "the server blocks this host after too many failed connections",
     "empty the server's host cache (FLUSH HOSTS, or on MySQL TRUNCATE performance_schema.host_cache)"},
    {1130, "the server does not allow connections from this host", "create the user for this host"},
    {1142, "the user lacks a privilege", "grant the user what its role needs on the shard's database"},
    {1143, "the user lacks a privilege", "grant the user what its role needs on the shard's database"},
    {1153, "a statement is larger than the server accepts", grow_packet},
    {1203, "the user has too many connections", "raise max_user_connections, or run fewer commands at once"},
    {1226, "the user has used up a quota", "raise the user's resource limits, or wait until they are reset"},
    {1227, "the user lacks a privilege", "grant the user the privilege that the server names"},
    {1251, "client and server share no authentication plugin", check_account},
    {1290, "the server forbids this statement", "check the options that the server was started with"},
    {1698, "the server denied access", check_account},
    {1812, "the server cannot open a table's file", restore_table},
    {1814, "the server cannot open a table's file", restore_table},
    {1820, "the password has expired", "set a new password for the user"},
    {1862, "the password has expired", "set a new password for the user"},
    {1932, "the server cannot open a table's file", restore_table},
    {2002, "cannot connect to the server", "start the server, or correct its socket or address in the cluster file"},
    {2003, "cannot connect to the server", "start the server, or correct its address in the cluster file"},
    {2005, "the server's host name is unknown", "correct the host name in the cluster file"},
    {2008, "the client library ran out of memory",
     "give the process more memory, or put fewer and smaller entities at once"},
    {2020, "a statement or a row is larger than the server or the client accepts", grow_packet},
    {2026, "a TLS connection cannot be established", check_tls},
    {2054, "client and server share no authentication plugin", check_account},
    {2059, "an authentication plugin could not be loaded",
     "give the user mysql_native_password, ed25519 or caching_sha2_password"},
    {2061, "the server requires an authentication method that needs TLS", check_tls},
    {3100, "the server's replication group refused the commit", join_group},
    {3118, "the account is locked", "unlock the user on the server"},
    {3159, "the server accepts only encrypted connections", "set ssl_mode to required, verify-ca or verify-identity"},
    {3781, "a new primary is still applying what the old one acknowledged", wait_for_primary},
    {3782, "a new primary is still applying what the old one acknowledged", wait_for_primary},
    {3783, "the server has left its replication group", join_group},
    {3797, "the server waits for its replication group", wait_for_primary},
    {3798, "the server waits for its replication group", wait_for_primary},
    {4151, "the account is locked", "unlock the user on the server"},
});

static_assert(std::is_sorted(advice_table.begin(), advice_table.end(),
                             [](const Advice& a, const Advice& b) { return a.number < b.number; }));

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

template <std::size_t size>
bool is_one_of(int number, const std::array<int, size>& numbers) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// True if the message has the system's text of the error, in English or in the language of the process.
bool names(const std::string& message, std::string_view english, int error) {
  return contains(message, english) || contains(message, std::generic_category().message(error));
}

// True for a TLS failure caused by the network or by a server that is shutting down, and not by a certificate.
bool is_tls_disconnect(const std::string& message) {
  constexpr std::array<std::string_view, 2> signs = {"unexpected eof", "shutdown"};
  return names(message, "reset by peer", ECONNRESET) || names(message, "Broken pipe", EPIPE) ||
         names(message, "timed out", ETIMEDOUT) || names(message, "Success", 0) ||
         std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) { return contains(message, sign); });
}

// True if the server accepted a connection but did not answer before the timeout, as a hanging server does.
bool is_silence(int number, const std::string& message) {
  return (number == cr_server_lost && contains(message, fmt::format("system error: {}", ETIMEDOUT))) ||
         (number == cr_tls && names(message, "timed out", ETIMEDOUT));
}

bool is_connection_loss(int number, std::optional<Flavour> flavour) {
  constexpr std::array<int, 11> either = {1053, 1152, 1158, 1159, 1160, 1161, 1180, 1243, 2006, 2013, 2055};
  constexpr std::array<int, 1> on_mariadb = {1927};
  constexpr std::array<int, 2> on_mysql = {3169, 4031};
  return is_one_of(number, either) || (flavour != Flavour::mysql && is_one_of(number, on_mariadb)) ||
         (flavour != Flavour::mariadb && is_one_of(number, on_mysql));
}

std::string_view what_of(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::conflict:
      return "the transaction conflicted with another one";
    case ErrorClass::not_connected:
      return "the server is temporarily not accepting connections";
    case ErrorClass::connection_lost:
      return "the connection to the server was lost";
    case ErrorClass::statement_killed:
      return "the server ended the statement early";
    case ErrorClass::failing_over:
      return "the server is read-only";
    case ErrorClass::duplicate_key:
      return "a row with this key already exists";
    case ErrorClass::table_gone:
      return "a table does not exist";
    case ErrorClass::unreachable:
    case ErrorClass::too_large:
    case ErrorClass::permanent:
      break;
  }
  return "the server reported an error";
}

std::string_view hint_of(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::conflict:
      return "look for long transactions and locks on the server, such as a backup's";
    case ErrorClass::not_connected:
    case ErrorClass::connection_lost:
      return "check that the server is running, read its log, and check the network";
    case ErrorClass::statement_killed:
      return "raise the server's time limit for statements, or find out what kills them";
    case ErrorClass::failing_over:
      return "name the writable server in the cluster file, or end its read_only mode";
    case ErrorClass::table_gone:
      return "if the shard has moved, use the current cluster file; if a lost shard was replaced, run `looseleaf "
             "create-index` with all definitions; if the table of an index was dropped by hand, run `looseleaf "
             "drop-index` "
             "and create the index again; restore another table from a backup";
    default:
      return "";
  }
}

bool is_transient(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::conflict:
    case ErrorClass::not_connected:
    case ErrorClass::connection_lost:
    case ErrorClass::statement_killed:
    case ErrorClass::failing_over:
      return true;
    case ErrorClass::unreachable:
    case ErrorClass::duplicate_key:
    case ErrorClass::table_gone:
    case ErrorClass::too_large:
    case ErrorClass::permanent:
      break;
  }
  return false;
}

// Messages that quote a value or the statement. The text is cut from the first quotation mark up to `resume`, or to the
// end.
struct Quoting {
  int number;
  std::string_view resume;
};

std::string without_values(int number, const std::string& message) {
  constexpr auto quoting = std::to_array<Quoting>({{1062, " for key "},
                                                   {1064, ""},
                                                   {1264, ""},
                                                   {1292, " for column "},
                                                   {1366, " for column "},
                                                   {1367, ""},
                                                   {1411, ""},
                                                   {1525, ""},
                                                   {1586, " for key "},
                                                   {1690, ""},
                                                   {3854, ""}});
  const auto* const found =
      std::find_if(quoting.begin(), quoting.end(), [&](const Quoting& entry) { return entry.number == number; });
  const auto open = message.find('\'');
  if (found == quoting.end() || open == std::string::npos) {
    return message;
  }
  const auto resume = found->resume.empty() ? std::string::npos : message.rfind(found->resume);
  const bool goes_on = resume != std::string::npos && resume > open;
  return message.substr(0, open) + "..." + (goes_on ? message.substr(resume) : "");
}

std::string escape_control(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

// The account's own limit of connections at a time, which is no quota of an hour.
bool is_too_many_now(int number, const std::string& message) {
  return number == 1226 && contains(message, "max_user_connections");
}

// ProxySQL has found no server for a statement, which was not executed.
bool is_proxy_without_server(int number, const std::string& message) {
  return number == 9001 && contains(message, "hostgroup");
}

}  // namespace

ServerError::ServerError(ErrorClass error_class, int number, ErrorCode code, const std::string& what, Context context,
                         std::string hint)
    : Error(code, what, std::move(context), std::move(hint)), class_(error_class), number_(number) {}

ServerError::~ServerError() = default;

bool ServerError::refuses_login() const {
  constexpr std::array<int, 14> numbers = {1045, 1129, 1130, 1251, 1698, 1820, 1862,
                                           2026, 2054, 2059, 2061, 3118, 3159, 4151};
  return class_ == ErrorClass::permanent && is_one_of(number_, numbers);
}

bool ServerError::retryable() const {
  return is_transient(class_);
}

ErrorClass classify(int number, const std::string& message, std::optional<Flavour> flavour) {
  constexpr std::array<int, 7> refusals = {1040, 1203, 2002, 2003, 2005, 3032, 3168};
  constexpr std::array<int, 3> read_only = {1792, 1836, 1874};
  constexpr std::array<int, 6> group_in_failover = {3100, 3781, 3782, 3783, 3797, 3798};  // MySQL's group replication
  const bool on_mysql = flavour == Flavour::mysql;
  const bool on_mariadb = flavour == Flavour::mariadb;
  if (is_one_of(number, refusals) || is_too_many_now(number, message) || is_proxy_without_server(number, message)) {
    return ErrorClass::not_connected;
  }
  if (is_connection_loss(number, flavour)) {
    return flavour ? ErrorClass::connection_lost : ErrorClass::not_connected;
  }
  if (number == cr_tls) {
    if (flavour) {
      return ErrorClass::connection_lost;
    }
    return is_tls_disconnect(message) ? ErrorClass::not_connected : ErrorClass::permanent;
  }
  if (number == 1213 || number == 1205 || (number == 1020 && on_mariadb) ||
      ((number == 3572 || number == 3101) && on_mysql)) {
    return ErrorClass::conflict;
  }
  if (number == 1317 || (number == 3024 && on_mysql) || (number == 1969 && on_mariadb)) {
    return ErrorClass::statement_killed;
  }
  // MySQL writes --read-only or --super-read-only, with a dash.
  if (is_one_of(number, read_only) ||
      (number == 1290 && (contains(message, "read-only") || contains(message, "read_only"))) ||
      (on_mysql && is_one_of(number, group_in_failover))) {
    return ErrorClass::failing_over;
  }
  if (number == 1153 || number == 2020) {
    return ErrorClass::too_large;
  }
  if (number == 1062) {
    return ErrorClass::duplicate_key;
  }
  return number == 1146 ? ErrorClass::table_gone : ErrorClass::permanent;
}

ServerError after_waiting(const ServerError& lost, std::chrono::milliseconds waited) {
  ServerError error(
      lost.error_class(), lost.number(), lost.code(), "the server did not answer a statement in time", lost.context(),
      "find out why the server is slow or hangs; a statement may take half of --timeout, and for index rows at most "
      "3.5 s");
  error.with("waited", fmt::format("{:.1f} s", std::chrono::duration<double>(waited).count()));
  return error;
}

ServerError make_server_error(int number, const std::string& message, std::optional<Flavour> flavour,
                              const std::string& server) {
  const int advised = is_too_many_now(number, message) ? er_too_many_of_user : number;
  const ErrorClass error_class = classify(number, message, flavour);
  const bool not_connected = error_class == ErrorClass::not_connected;
  const bool silent = not_connected && is_silence(number, message);
  const bool lost = not_connected && is_connection_loss(number, flavour);
  std::string_view what = what_of(lost ? ErrorClass::connection_lost : error_class);
  std::string_view hint = hint_of(error_class);
  const auto* const advice = std::find_if(advice_table.begin(), advice_table.end(),
                                          [&](const Advice& entry) { return entry.number == advised; });
  const bool read_only = error_class == ErrorClass::failing_over && number == 1290;
  const bool fits = !read_only && error_class != ErrorClass::connection_lost;
  if (silent) {
    what = "the server did not answer in time";
  } else if (advice != advice_table.end() && fits) {
    what = advice->what;
    hint = advice->hint;
  } else if (error_class == ErrorClass::permanent && contains(message, "No space left")) {
    hint = free_space;
  }
  Error::Context context = {{"server", server}, {"code", std::to_string(number)}};
  if (!message.empty()) {
    context.emplace_back("message", escape_control(without_values(number, message)));
  }
  return {error_class,
          number,
          is_transient(error_class) ? ErrorCode::unavailable : ErrorCode::server,
          std::string(what),
          std::move(context),
          std::string(hint)};
}

}  // namespace looseleaf::sql

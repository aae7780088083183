// A session that uses MySQL Connector/C++. Only this file, fetch.cpp and connector_options.cpp use the connector.
#include "sql/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <new>
#include <utility>

#include "sql/connector.hpp"
#include "sql/connector_options.hpp"
#include "sql/fetch.hpp"
#include "sql/rehearsal.hpp"
#include "sql/session.hpp"

namespace looseleaf::sql {
namespace {

using Clock = std::chrono::steady_clock;

// The client library's own errors.
constexpr int cr_first = 2000, cr_last = 2999, cr_server_lost = 2013;

constexpr int er_unknown_variable = 1193;
constexpr int er_prepare_again = 1615;  // a prepared statement must be prepared again
constexpr std::size_t most_shapes = 16, most_values = 64;

// Precedes the first statement of a transaction in its packet. No other packet holds several statements.
constexpr std::string_view begin_and = "START TRANSACTION; ";
// Follows that statement if its count is wanted: the connector knows only the count of a packet's first statement.
constexpr std::string_view and_count = "; SELECT ROW_COUNT()";

// get_driver_instance() fills a static map and is not safe for threads.
::sql::Driver& driver() {
  static ::sql::Driver* const instance = ::get_driver_instance();
  return *instance;
}

// True for an error of the client library, not of the server. The state of the connection is then unknown.
bool from_client(int number) {
  return number < 1000 || (number >= cr_first && number <= cr_last);
}

// Sessions accept several statements in one packet, so the second line of defence is here: a semicolon is accepted in a
// quoted name only. Values are hexadecimal digits (literals.hpp), so they have none.
void require_one_statement(std::string_view sql) {
  if (sql.find(';') == std::string_view::npos) {  // which is fast; find_first_of() took a tenth of a put's client time
    return;
  }
  bool in_name = false;
  for (std::size_t at = sql.find_first_of(";`"); at != std::string_view::npos; at = sql.find_first_of(";`", at + 1)) {
    if (sql[at] == '`') {
      in_name = !in_name;
    } else if (!in_name) {
      throw Error(ErrorCode::usage, "refusing to send several statements at once");
    }
  }
}

// If a statement has values, the connector's destructor allocates memory and must not fail. If there is none, the
// statement is left to the end of its session.
struct Discard {
  void operator()(::sql::PreparedStatement* statement) const noexcept {
    try {
      statement->clearParameters();
    } catch (const std::exception&) {
      return;
    }
    delete statement;
  }
};
using Prepared = std::unique_ptr<::sql::PreparedStatement, Discard>;

void set_values(::sql::PreparedStatement& statement, const std::vector<Statement::Value>& values) {
  unsigned number = 0;
  for (const Statement::Value& value : values) {
    ++number;
    if (const auto* const text = std::get_if<std::string>(&value)) {
      statement.setString(number, *text);
    } else if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
      statement.setInt64(number, *integer);
    } else {
      statement.setDouble(number, std::get<double>(value));
    }
  }
}

// Sets a statement's values. If memory ran out in the connector meanwhile, it would free some values twice.
void bind(Prepared& statement, const std::vector<Statement::Value>& values) {
  try {
    statement->clearParameters();
    set_values(*statement, values);
  } catch (const std::bad_alloc&) {
    static_cast<void>(statement.release());
    throw;
  }
}

}  // namespace

class Connection::Impl {
 public:
  explicit Impl(const ConnectOptions& options)
      : address_(options.address), server_(to_string(options.address)), read_timeout_(options.read_timeout) {
    translated([&] {
      auto map = connector_options(options);
      connection_.reset(driver().connect(map));
    });
    assert_tls(options.tls.mode.value_or(SslMode::verify_identity));
    set_up(options.require_writable, options.first_query);
  }

  Result query(const std::string& sql) {
    require_one_statement(sql);
    return translated([&] {
      const std::unique_ptr<::sql::Statement> statement(connection_->createStatement());
      const bool announced = send(*statement, sql);
      return fetch(*statement, announced);
    });
  }

  Result query(const Statement& statement) {
    if (begins_ || statement.values().size() > most_values) {
      return query(statement.text());
    }
    Shape& shape = find(statement.shape());
    if (shape.used && !shape.prepared && !shape.not_preparable) {
      prepare(shape);
    }
    shape.used = true;
    if (!shape.prepared) {
      return query(statement.text());
    }
    try {
      return translated([&] {
        bind(shape.prepared, statement.values());
        return fetch(*shape.prepared);
      });
    } catch (const ServerError& error) {
      if (error.number() != er_prepare_again) {
        throw;
      }
    }
    shape.prepared.reset();
    return query(statement.text());
  }

  std::uint64_t execute(const std::string& sql) {
    require_one_statement(sql);
    return translated([&]() -> std::uint64_t {
      const std::unique_ptr<::sql::Statement> statement(connection_->createStatement());
      const bool begins = begins_;
      const bool announced = send(*statement, begins ? fmt::format("{}{}", sql, and_count) : sql);
      if (announced) {
        static_cast<void>(fetch(*statement, true));
      }
      if (begins) {
        const bool counted = next_result(*statement);
        return std::max<std::int64_t>(0, fetch(*statement, counted).integer(0, 0));  // -1 after a SELECT
      }
      return announced ? 0 : statement->getUpdateCount();
    });
  }

  // Ends the transaction with COMMIT or ROLLBACK, unless it was not begun yet.
  void end(const char* how) {
    if (rehearsed_) {
      rehearsed_->end(how);
    } else if (!std::exchange(begins_, false)) {
      execute(how);
    }
  }

  std::optional<std::uint64_t> replication_lag() {
    const bool on_mysql = facts_.flavour == Flavour::mysql;
    const std::string column = on_mysql ? "Seconds_Behind_Source" : "Seconds_Behind_Master";
    const std::string question = on_mysql ? "SHOW REPLICA STATUS" : "SHOW ALL REPLICAS STATUS";
    return translated([&]() -> std::optional<std::uint64_t> {
      const std::unique_ptr<::sql::Statement> statement(connection_->createStatement());
      const std::unique_ptr<::sql::ResultSet> rows(statement->executeQuery(question));
      std::optional<std::uint64_t> lag;
      while (rows->next()) {
        if (rows->isNull(column)) {
          return std::nullopt;
        }
        lag = std::max(lag.value_or(0), rows->getUInt64(column));
      }
      return lag;
    });
  }

  const Address address_;
  SessionFacts facts_;
  NamedTexts first_rows_;
  bool broken_ = false;
  bool changes_are_counted_ = false;
  bool begins_ = false;  // the next statement begins a transaction
  std::optional<RehearsedSession> rehearsed_;
  Clock::time_point last_end_ = Clock::now();

 private:
  // A statement without its values, as it was used in this session.
  struct Shape {
    std::string sql;
    bool used = false;
    bool not_preparable = false;  // the server did not prepare it; it limits prepared statements over all sessions
    Prepared prepared;
  };

  // Finds or adds a shape. If there are too many, the least recently used shape is dropped.
  Shape& find(const std::string& sql) {
    auto found = std::find_if(shapes_.begin(), shapes_.end(), [&](const Shape& shape) { return shape.sql == sql; });
    if (found == shapes_.end()) {
      if (shapes_.size() == most_shapes) {
        shapes_.pop_back();
      }
      found = shapes_.insert(shapes_.end(), Shape{sql, false, false, nullptr});
    }
    shapes_.splice(shapes_.begin(), shapes_, found);
    return shapes_.front();
  }

  // Prepares a shape. Ignores errors about the statement: the server repeats them when it gets the statement as text.
  // Throws if the connection is lost or on a conflict, because the transaction may have ended.
  void prepare(Shape& shape) {
    try {
      translated([&] { shape.prepared.reset(connection_->prepareStatement(shape.sql)); });
    } catch (const ServerError& error) {
      const bool about_statement =
          error.error_class() == ErrorClass::permanent || error.error_class() == ErrorClass::table_gone;
      if (broken_ || !about_statement) {
        throw;
      }
      shape.not_preparable = true;
    }
  }

  // Runs `action` and converts the connector's exceptions to ServerError. Until the session is set up, the flavour is
  // unknown, and no work can be lost with the connection.
  template <typename Action>
  auto translated(Action&& action) -> decltype(action()) {
    const StatementEnd end{last_end_};
    const auto begin = std::chrono::steady_clock::now();
    try {
      return action();
    } catch (const ::sql::SQLException& error) {
      const auto waited =
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
      const auto flavour = set_up_ ? std::optional(facts_.flavour) : std::nullopt;
      auto translation = make_server_error(error.getErrorCode(), error.what(), flavour, server_);
      const ErrorClass error_class = translation.error_class();
      broken_ = broken_ || error_class == ErrorClass::connection_lost || error_class == ErrorClass::failing_over ||
                from_client(error.getErrorCode());
      if (error.getErrorCode() == cr_server_lost && error_class == ErrorClass::connection_lost &&
          waited >= read_timeout_) {
        throw after_waiting(translation, waited);
      }
      throw translation;
    } catch (...) {
      broken_ = true;  // part of an answer may still be unread
      throw;
    }
  }

  // Returns true if the statement has rows.
  bool send(::sql::Statement& statement, const std::string& sql) {
    if (!std::exchange(begins_, false)) {
      return statement.execute(sql);
    }
    statement.execute(fmt::format("{}{}", begin_and, sql));
    return next_result(statement);
  }

  // Returns true if the next result of several statements has rows. If the connection breaks while the columns of that
  // result are read, the client library forgets why, and the connector throws an exception without a number.
  static bool next_result(::sql::Statement& statement) {
    try {
      return statement.getMoreResults();
    } catch (const ::sql::SQLException& error) {
      if (error.getErrorCode() != 0) {
        throw;
      }
      throw ::sql::SQLException(error.what(), error.getSQLState(), cr_server_lost);
    }
  }

  void assert_tls(SslMode mode) {
    if (mode == SslMode::disabled || mode == SslMode::preferred) {
      return;
    }
    const Result cipher = query("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    if (cipher.empty() || cipher.text(0, 1).empty()) {
      throw ServerError(ErrorClass::permanent, 0, ErrorCode::server, "the connection is not encrypted",
                        {{"server", server_}, {"ssl_mode", to_string(mode)}},
                        "set TLS up on the server, or choose a weaker ssl_mode");
    }
  }

  void set_up(bool require_writable, const std::string& first_query) {
    const ::sql::SQLString greeting = connection_->getMetaData()->getDatabaseProductVersion();
    const std::string version(greeting.c_str(), greeting.length());
    check_server({{"version", version}}, false, server_);  // another product may not even know what follows
    Flavour flavour = greeted_flavour(version);
    try {
      execute(session_setup(flavour, version));
    } catch (const ServerError& error) {
      if (error.number() != er_unknown_variable) {
        throw;
      }
      flavour = flavour == Flavour::mariadb ? Flavour::mysql : Flavour::mariadb;
      try {
        execute(session_setup(flavour, version));
      } catch (ServerError& neither) {
        if (neither.number() == er_unknown_variable) {
          neither.with_hint(std::string(newer_server));
        }
        throw;
      }
    }
    Variables variables;
    for (auto& [name, value] : ask(flavour, first_query)) {
      if (is_session_variable(name)) {
        variables[name] = std::move(value);
      } else {
        first_rows_.emplace_back(std::move(name), std::move(value));
      }
    }
    facts_ = session_facts(variables);
    check_version(variables, server_);
    check_server(variables, require_writable, server_);
    if (const std::string rest = rest_of_setup(variables); !rest.empty()) {
      execute(rest);
    }
    set_up_ = true;
  }

  // Returns the rows of session_query() and of `first_query`. If the server refuses that, asks one after the other: its
  // greeting was misleading, or `first_query` has no tables. An account may get another error than a missing table.
  NamedTexts ask(Flavour flavour, const std::string& first_query) {
    try {
      return to_named_texts(query(session_query(flavour) + (first_query.empty() ? "" : " UNION ALL " + first_query)));
    } catch (const ServerError& error) {
      if (broken_ || error.retryable()) {
        throw;
      }
    }
    NamedTexts rows = to_named_texts(query(session_show()));
    try {
      const NamedTexts more = first_query.empty() ? NamedTexts() : to_named_texts(query(first_query));
      rows.insert(rows.end(), more.begin(), more.end());
    } catch (const ServerError& error) {
      if (error.error_class() != ErrorClass::table_gone) {
        throw;
      }
    }
    return rows;
  }

  struct StatementEnd {
    Clock::time_point& at;
    ~StatementEnd() { at = Clock::now(); }
  };

  const std::string server_;
  const std::chrono::milliseconds read_timeout_;
  std::unique_ptr<::sql::Connection> connection_;
  std::list<Shape> shapes_;  // the most recently used one first
  bool set_up_ = false;
};

Connection::Connection(const ConnectOptions& options) : impl_(std::make_unique<Impl>(options)) {}

Connection::~Connection() = default;

Result Connection::query(const std::string& sql) {
  if (impl_->rehearsed_) {
    return impl_->rehearsed_->query(sql, [&](const std::string& read) { return impl_->query(read); });
  }
  return impl_->query(sql);
}

Result Connection::query(const Statement& statement) {
  return impl_->rehearsed_ ? query(statement.text()) : impl_->query(statement);
}

std::uint64_t Connection::execute(const std::string& sql) {
  if (impl_->rehearsed_) {
    impl_->rehearsed_->record(sql);
    return 1;
  }
  return impl_->execute(sql);
}

void Connection::begin() {
  if (impl_->rehearsed_) {
    impl_->rehearsed_->begin();
  } else {
    impl_->begins_ = true;
  }
}

void Connection::commit() {
  impl_->end("COMMIT");
}

void Connection::roll_back() {
  impl_->end("ROLLBACK");
}

void Connection::rehearse(Rehearsal& rehearsal, std::uint32_t place) {
  impl_->rehearsed_.emplace(rehearsal, place);
}

void Connection::pretend(const std::string& query, const std::function<Result()>& answer) {
  if (impl_->rehearsed_) {
    impl_->rehearsed_->rehearsal().pretend(query, answer());
  }
}

NamedTexts Connection::take_first_rows() {
  return std::move(impl_->first_rows_);
}

bool Connection::broken() const {
  return impl_->broken_;
}

void Connection::mark_broken() noexcept {
  impl_->broken_ = true;
}

std::chrono::steady_clock::duration Connection::idle_for() const {
  return Clock::now() - impl_->last_end_;
}

const SessionFacts& Connection::facts() const {
  return impl_->facts_;
}

bool Connection::changes_are_counted() const {
  return impl_->changes_are_counted_;
}

void Connection::note_changes_are_counted() {
  impl_->changes_are_counted_ = true;
}

const Address& Connection::address() const {
  return impl_->address_;
}

std::optional<std::uint64_t> Connection::replication_lag() {
  return impl_->replication_lag();
}

}  // namespace looseleaf::sql

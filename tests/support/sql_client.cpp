// Over the C API of the client library, because tests that look at the tables thousands of times would otherwise spend
// a third of their time in starting client programs.
#include "tests/support/sql_client.hpp"

#include <fmt/format.h>
#include <mysql.h>

#include <memory>
#include <stdexcept>

namespace looseleaf::test {
namespace {

void append_cell(std::string& out, const char* text, unsigned long length) {
  if (text == nullptr) {
    out += "NULL";
    return;
  }
  for (unsigned long i = 0; i < length; ++i) {
    switch (text[i]) {
      case '\0':
        out += "\\0";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += text[i];
    }
  }
}

void append_rows(std::string& out, MYSQL_RES* result) {
  const unsigned columns = mysql_num_fields(result);
  while (MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* const lengths = mysql_fetch_lengths(result);
    for (unsigned column = 0; column < columns; ++column) {
      out += column == 0 ? "" : "\t";
      append_cell(out, row[column], lengths[column]);
    }
    out += '\n';
  }
}

}  // namespace

std::string run_sql(const std::string& socket, const std::string& database, const std::string& statements) {
  const std::unique_ptr<MYSQL, void (*)(MYSQL*)> connection(mysql_init(nullptr), mysql_close);
  const auto check = [&](bool succeeded) {
    if (!succeeded) {
      throw std::runtime_error(fmt::format("{}: error {}: {} in: {}", socket, mysql_errno(connection.get()),
                                           mysql_error(connection.get()), statements));
    }
  };
  mysql_options(connection.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
  check(mysql_real_connect(connection.get(), "localhost", "root", "", database.empty() ? nullptr : database.c_str(), 0,
                           socket.c_str(), CLIENT_MULTI_STATEMENTS) != nullptr);
  check(mysql_real_query(connection.get(), statements.data(), statements.size()) == 0);
  std::string out;
  int next = 0;
  do {
    const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> result(mysql_store_result(connection.get()),
                                                                  mysql_free_result);
    if (result) {
      append_rows(out, result.get());
    }
    check(mysql_errno(connection.get()) == 0);
    next = mysql_next_result(connection.get());
  } while (next == 0);
  check(next < 0);
  return out;
}

}  // namespace looseleaf::test

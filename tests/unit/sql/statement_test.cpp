// The two forms of a statement.
#include "sql/statement.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace looseleaf::sql;
using namespace std::string_literals;

TEST_CASE("a statement has its values as literals in its text, and places for them in its shape") {
  Statement statement("SELECT a FROM t WHERE b = ");
  statement.add_bytes("\0\xff'"s).add(" AND s IN (").add_text("ä?").add(", ").add_text("");
  statement.add(") AND i < ").add_integer(-5).add(" AND d > ").add_double(0.1);
  CHECK(statement.text() ==
        "SELECT a FROM t WHERE b = x'00ff27' AND s IN (_utf8mb4 x'c3a43f', _utf8mb4 '') AND i < -5 AND d > 0.1e0");
  CHECK(statement.shape() == "SELECT a FROM t WHERE b = UNHEX(?) AND s IN (?, ?) AND i < ? AND d > ?");
  CHECK(statement.values() == std::vector<Statement::Value>{"00ff27", "ä?", "", std::int64_t{-5}, 0.1});
}

TEST_CASE("statements that differ in their values only have the same shape") {
  CHECK(Statement("SELECT ").add_integer(1).shape() == Statement("SELECT ").add_integer(2).shape());
  CHECK(Statement("SELECT ").add_integer(1).shape() != Statement("SELECT  ").add_integer(1).shape());
}

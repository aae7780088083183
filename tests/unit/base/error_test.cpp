// The exception type.
#include <doctest/doctest.h>

#include <looseleaf/error.hpp>
#include <string>

using namespace looseleaf;

TEST_CASE("context is kept in order and the innermost place that knows a fact wins") {
  Error error(ErrorCode::server, "the statement failed", {{"shard", "3"}});
  error.with("server", "db1:3306").with("shard", "4");
  CHECK(error.context() == Error::Context{{"shard", "3"}, {"server", "db1:3306"}});
}

TEST_CASE("a copy carries everything") {
  const Error error = Error(ErrorCode::io, "the file cannot be read", {{"file", "a"}}).with_hint("look");
  const Error copy = error;
  CHECK(copy.code() == ErrorCode::io);
  CHECK(std::string(copy.what()) == "the file cannot be read");
  CHECK(copy.context() == error.context());
  CHECK(copy.hint() == "look");
}

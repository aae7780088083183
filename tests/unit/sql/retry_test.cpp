// Replays: which errors are retried, and until when.
#include "sql/retry.hpp"

#include <doctest/doctest.h>

#include "tests/support/errors.hpp"

namespace looseleaf::sql {
namespace {

using std::chrono::milliseconds;

ServerError deadlock() {
  return make_server_error(1213, "", Flavour::mysql, "s");
}

TEST_CASE("a transaction is replayed until it succeeds") {
  int calls = 0;
  const int result = with_retries(base::Deadline(std::chrono::seconds(30)), [&] {
    if (++calls < 4) {
      throw deadlock();
    }
    return 7;
  });
  CHECK(result == 7);
  CHECK(calls == 4);
}

TEST_CASE("a permanent error ends at once") {
  int calls = 0;
  CHECK_THROWS_AS(with_retries(base::Deadline(std::chrono::seconds(30)),
                               [&] {
                                 ++calls;
                                 throw make_server_error(1045, "", Flavour::mysql, "s");
                               }),
                  ServerError);
  CHECK(calls == 1);
}

TEST_CASE("after the deadline the last transient error comes out as unavailable") {
  int calls = 0;
  const auto fail = [&] {
    ++calls;
    throw deadlock();
  };
  const Error error = test::error_of([&] { with_retries(base::Deadline(std::chrono::seconds(1)), fail); });
  CHECK(error.code() == ErrorCode::unavailable);
  CHECK(calls > 1);
}

TEST_CASE("a wait never goes beyond the deadline") {
  Backoff backoff;
  const auto begin = std::chrono::steady_clock::now();
  const base::Deadline deadline(milliseconds(100));
  for (int i = 0; i < 40; ++i) {
    backoff.wait(deadline);
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));  // without the deadline about 16 s
}

}  // namespace
}  // namespace looseleaf::sql

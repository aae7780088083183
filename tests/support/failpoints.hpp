// For test cases that need the program's failpoints: TEST_CASE("…" * needs_failpoints).
#pragma once

#include <doctest/doctest.h>

#include "base/failpoint.hpp"

namespace looseleaf::test {

inline const doctest::skip needs_failpoints(!base::failpoints_enabled);

}  // namespace looseleaf::test

// Random numbers that no other process draws: epochs, generations, tokens.
#pragma once

#include <cstdint>

namespace looseleaf::base {

// Returns 64 random bits from the operating system; never 0. Thread-safe.
[[nodiscard]] std::uint64_t random_u64();
// Returns 63 of them, for numbers that a statement lists: where some are greater than any signed number and some are
// not, MariaDB compares them as decimals, and reads the whole table.
[[nodiscard]] std::uint64_t random_token();

}  // namespace looseleaf::base

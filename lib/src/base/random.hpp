// Random numbers that no other process draws: epochs, generations, tokens.
#pragma once

#include <cstdint>

namespace looseleaf::base {

// Returns 64 random bits from the operating system; never 0. Thread-safe.
[[nodiscard]] std::uint64_t random_u64();

}  // namespace looseleaf::base

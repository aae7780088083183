// Random numbers that no other process draws: epochs, generations, tokens.
#pragma once

#include <cstdint>

namespace looseleaf::base {

// 64 bits from the operating system; never 0. Safe from any thread.
[[nodiscard]] std::uint64_t random_u64();

}  // namespace looseleaf::base

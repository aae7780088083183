// What random tests ask of a store and of its reference, and how they say that the two disagree.
#pragma once

#include <array>
#include <looseleaf/query.hpp>
#include <looseleaf/uuid.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace looseleaf::test {

// How a command writes the operators, in their order in the library.
inline constexpr std::array<const char*, 8> operators = {"=", "<", "<=", ">", ">=", "^=", "!=", " exists"};

// On one line, with values as JSON, so that all of them can be read.
[[nodiscard]] std::string describe(const Query& query);

[[nodiscard]] std::vector<std::string> texts_of(const std::vector<Uuid>& ids);

// The store disagrees with the reference.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace looseleaf::test

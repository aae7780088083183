// Writes an error as a part of another text.
#pragma once

#include <looseleaf/error.hpp>
#include <string>

namespace looseleaf::base {

// Returns an error without its hint on one line: "the command failed (status: 3)".
[[nodiscard]] std::string on_one_line(const Error& error);

}  // namespace looseleaf::base

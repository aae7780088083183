// What `flush` and `refused retry` report.
#pragma once

#include <looseleaf/buffer.hpp>

#include "cli/registry/exit_status.hpp"
#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Prints counts and failures.
[[nodiscard]] ExitStatus report_flush(const FlushReport& report, const Globals& globals);

}  // namespace looseleaf::cli

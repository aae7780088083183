// Counts and samples the findings of a verification, and passes them to the caller.
#pragma once

#include <looseleaf/jobs.hpp>

namespace looseleaf::verify {

// Not thread-safe.
class Findings {
 public:
  Findings(const VerifyOptions& options, VerifyReport& report) : options_(options), report_(report) {}

  // Records a confirmed finding.
  void add(const Finding& finding);
  void add_mended(const Finding& finding);

 private:
  const VerifyOptions& options_;
  VerifyReport& report_;
};

}  // namespace looseleaf::verify

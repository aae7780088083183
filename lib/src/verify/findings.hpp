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
  // Records that the rows of an index are not compared.
  void leave_out(const std::string& table) { report_.unverified.push_back(table); }

 private:
  const VerifyOptions& options_;
  VerifyReport& report_;
};

}  // namespace looseleaf::verify

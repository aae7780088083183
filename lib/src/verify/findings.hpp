// What a verification finds: counted, sampled, and handed on.
#pragma once

#include <looseleaf/jobs.hpp>

namespace looseleaf::verify {

// Used by one thread at a time.
class Findings {
 public:
  Findings(const VerifyOptions& options, VerifyReport& report) : options_(options), report_(report) {}

  // One that stands.
  void add(const Finding& finding);
  void add_mended(const Finding& finding);

 private:
  const VerifyOptions& options_;
  VerifyReport& report_;
};

}  // namespace looseleaf::verify

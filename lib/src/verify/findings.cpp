// Counts and samples the findings of a verification, and passes them to the caller.
#include "verify/findings.hpp"

namespace looseleaf {

std::string to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::missing:
      return "missing";
    case FindingKind::stale:
      return "stale";
    case FindingKind::orphan:
      return "orphan";
    case FindingKind::misplaced:
      return "misplaced";
    case FindingKind::duplicate:
      return "duplicate";
    case FindingKind::conflict:
      return "conflict";
    case FindingKind::unreadable:
      return "unreadable";
    case FindingKind::wrong_id:
      return "wrong_id";
    case FindingKind::wrong_shard:
      return "wrong_shard";
    case FindingKind::table_differs:
      return "table_differs";
    case FindingKind::catalog_differs:
      return "catalog_differs";
    case FindingKind::definition_differs:
      return "definition_differs";
  }
  return {};
}

namespace verify {

void Findings::add(const Finding& finding) {
  ++report_.found;
  if (++report_.counts[{finding.index, finding.shard}].findings[finding.kind] <= options_.samples) {
    report_.findings.push_back(finding);
  }
  if (options_.on_finding) {
    options_.on_finding(finding);
  }
}

void Findings::add_mended(const Finding& finding) {
  if (++report_.counts[{finding.index, finding.shard}].mended[finding.kind] <= options_.samples) {
    report_.mended.push_back(finding);
  }
  if (options_.on_repaired) {
    options_.on_repaired(finding);
  }
}

}  // namespace verify
}  // namespace looseleaf

// JSON Merge Patch (RFC 7396), by splicing texts: whatever a patch does not name stays byte for byte.
#pragma once

#include <looseleaf/uuid.hpp>
#include <string>
#include <string_view>

namespace looseleaf::model {

// Throws Error(corrupt) unless a stored text can be merged into: another program may have stored one that is no entity,
// has another id, or that put would not accept.
void require_mergeable(const Uuid& id, const std::string& stored);

// Returns the entity `target` with the members of `patch`: a member replaces that of the entity, two objects are
// merged, and null deletes. New members come last. The patch's `id` is ignored, because it names the entity, perhaps in
// another spelling. Both texts are JSON objects that were accepted as entities.
[[nodiscard]] std::string merge_patch(std::string_view target, std::string_view patch);

}  // namespace looseleaf::model

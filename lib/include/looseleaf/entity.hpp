// An entity, and the result of reading one.
#pragma once

#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <string>

namespace looseleaf {

struct Entity {
  Uuid id;
  std::string json;  // the text as stored

  bool operator==(const Entity&) const = default;
};

enum class Stamps { leave_out, read };

// The result of reading one id.
struct GetResult {
  Uuid id;
  std::optional<Entity> entity;  // absent if no entity has this id, or if `error` is set
  std::optional<Error>
      error;  // why the body (corrupt; also another entity's) or the shard (unavailable, server) cannot be read
  // With Stamps::read, the stamp of the entity: UTC, "2026-01-31 12:00:00.000001". It names this version for ever: no
  // other version of the entity ever has the same stamp.
  std::string stamp = {};
};

}  // namespace looseleaf

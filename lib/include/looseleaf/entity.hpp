// What is stored, as a caller gets it.
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

// What there is under an id.
struct GetResult {
  Uuid id;
  std::optional<Entity> entity;  // absent if there is none
  std::optional<Error> error;  // its body cannot be read (corrupt), or its shard cannot be asked (unavailable, server)
};

}  // namespace looseleaf

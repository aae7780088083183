// Entities like FriendFeed's, about 320 bytes each, the same for the same seed.
#pragma once

#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <random>
#include <string>

namespace looseleaf::bench {

class Generator {
 public:
  static constexpr std::uint64_t entities_a_user = 25;

  // Users and feeds are drawn from entities / 25. Another revision has the same ids, but other users and links.
  Generator(std::uint64_t entities, std::uint64_t seed, std::uint64_t revision = 0);

  // The next entity as JSON, with an id of its own.
  std::string next();
  // A user that the entities may have, as 32 hex digits.
  std::string some_user();

 private:
  Uuid numbered(std::uint64_t kind, std::uint64_t number) const;

  std::uint64_t users_, revision_;
  std::uint64_t made_ = 0;
  std::mt19937_64 random_;
};

}  // namespace looseleaf::bench

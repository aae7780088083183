// Digests of entities that do not depend on how their bodies are compressed, and sums of them by cell.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <string_view>
#include <vector>

namespace looseleaf::compare {

struct Digest {
  std::uint64_t high = 0, low = 0;

  bool operator==(const Digest&) const = default;
};

// Every object has random keys of its own. So no two texts have the same digest in every run, and nobody can write two
// that do.
class Digester {
 public:
  Digester();

  [[nodiscard]] Digest digest(const Uuid& id, std::string_view text) const;
  // Returns 64 bits that depend on all bytes of the id: any part of it may be a counter or a timestamp.
  [[nodiscard]] std::uint64_t hash(const Uuid& id) const;

 private:
  std::array<std::uint64_t, 4> keys_;
};

// For each cell of ids, the sum of the digests of one store less that of the other. Memory does not grow with the
// stores. An entity that differs all the time contributes something other than 0, whatever else changes meanwhile.
class CellSums {
 public:
  explicit CellSums(const Digester& digester) : digester_(digester), cells_(cells) {}

  // Several threads may call these at once.
  void add(const Uuid& id, const Digest& digest) { add(id, digest.high, digest.low); }
  void subtract(const Uuid& id, const Digest& digest) { add(id, 0 - digest.high, 0 - digest.low); }

  // Returns true if the stores differ in the cell of this id.
  [[nodiscard]] bool differ_at(const Uuid& id) const { return cells_[cell_of(id)] != Digest(); }
  // Returns true if they differ in any cell.
  [[nodiscard]] bool differ() const;

 private:
  static constexpr int bits = 20;
  static constexpr std::size_t cells = std::size_t{1} << bits;

  [[nodiscard]] std::size_t cell_of(const Uuid& id) const { return digester_.hash(id) >> (64 - bits); }
  void add(const Uuid& id, std::uint64_t high, std::uint64_t low) {
    Digest& cell = cells_[cell_of(id)];
    std::atomic_ref(cell.high).fetch_add(high, std::memory_order_relaxed);
    std::atomic_ref(cell.low).fetch_add(low, std::memory_order_relaxed);
  }

  const Digester& digester_;
  std::vector<Digest> cells_;
};

}  // namespace looseleaf::compare

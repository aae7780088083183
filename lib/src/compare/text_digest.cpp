// The digest multiplies 64-bit words to 128 bits and folds the product, as wyhash does, in two lanes.
#include "compare/text_digest.hpp"

#include <algorithm>
#include <cstring>

#include "base/random.hpp"

namespace looseleaf::compare {
namespace {

constexpr std::size_t block = 16;  // bytes

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
}

struct Words {
  std::uint64_t first = 0, second = 0;
};

// Reads up to a block; zeros stand for what is absent.
Words words_of(const void* bytes, std::size_t size) {
  Words words;
  std::memcpy(&words.first, bytes, std::min<std::size_t>(size, 8));
  if (size > 8) {
    std::memcpy(&words.second, static_cast<const char*>(bytes) + 8, size - 8);
  }
  return words;
}

}  // namespace

Digester::Digester() {
  std::generate(keys_.begin(), keys_.end(), base::random_u64);
}

Digest Digester::digest(const Uuid& id, std::string_view text) const {
  // The length tells texts apart that differ only in zeros at the end.
  Digest state{keys_[0] ^ text.size(), keys_[1]};
  const auto mix = [&](const Words& words) {
    state = {multiply(state.high ^ words.first, words.second ^ keys_[2]),
             multiply(state.low ^ words.second, words.first ^ keys_[3])};
  };
  mix(words_of(id.bytes.data(), block));
  while (text.size() > block) {
    mix(words_of(text.data(), block));
    text.remove_prefix(block);
  }
  mix(words_of(text.data(), text.size()));
  return {multiply(state.high ^ keys_[3], state.low ^ keys_[2]), multiply(state.low ^ keys_[0], state.high ^ keys_[1])};
}

std::uint64_t Digester::hash(const Uuid& id) const {
  const Words words = words_of(id.bytes.data(), block);
  return multiply(multiply(words.first ^ keys_[0], words.second ^ keys_[1]), keys_[2] | 1);
}

bool CellSums::differ() const {
  return std::any_of(cells_.begin(), cells_.end(), [](const Digest& cell) { return cell != Digest(); });
}

}  // namespace looseleaf::compare

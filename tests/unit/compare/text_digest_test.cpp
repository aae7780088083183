// Digests tell texts and ids apart, and sums of them by cell are 0 only if both stores contributed the same.
#include "compare/text_digest.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

#include "tests/support/entities.hpp"

namespace looseleaf::compare {
namespace {

using test::uuid_of;

TEST_CASE("every bit of a text and of an id, the text's length and the order of its parts are in the digest") {
  const Digester digester;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::size_t digests = 0;
  const auto add = [&](const Uuid& id, const std::string& text) {
    const Digest digest = digester.digest(id, text);
    CHECK(digest == digester.digest(id, text));
    seen.emplace(digest.high, digest.low);
    ++digests;
  };
  for (std::size_t size = 0; size <= 70; ++size) {
    add(uuid_of(1), std::string(size, '\0'));
    for (std::size_t at = 0; at < size * 8; ++at) {
      std::string text(size, '\0');
      text[at / 8] = static_cast<char>(1U << (at % 8));
      add(uuid_of(1), text);
    }
  }
  for (std::size_t at = 0; at < 16 * 8; ++at) {
    Uuid id = uuid_of(1);
    id.bytes[at / 8] = static_cast<std::uint8_t>(id.bytes[at / 8] ^ (1U << (at % 8)));
    add(id, "");
  }
  const std::string one(16, '1'), two(16, '2');
  add(uuid_of(1), one + two + one);
  add(uuid_of(1), two + one + one);
  add(uuid_of(1), one + one + two);
  CHECK(seen.size() == digests);
}

TEST_CASE("digests have other keys in every run") {
  CHECK_FALSE(Digester().digest(uuid_of(1), "text") == Digester().digest(uuid_of(1), "text"));
}

TEST_CASE("cells differ where the stores do, in whatever order they are read") {
  const Digester digester;
  CellSums sums(digester);
  CHECK_FALSE(sums.differ());
  for (std::uint64_t number = 0; number < 1000; ++number) {
    sums.add(uuid_of(number), digester.digest(uuid_of(number), "text"));
  }
  CHECK(sums.differ());
  for (std::uint64_t number = 1000; number-- > 0;) {
    sums.subtract(uuid_of(number), digester.digest(uuid_of(number), number == 7 ? "other" : "text"));
  }
  CHECK(sums.differ());
  CHECK(sums.differ_at(uuid_of(7)));
  sums.subtract(uuid_of(7), digester.digest(uuid_of(7), "text"));
  sums.add(uuid_of(7), digester.digest(uuid_of(7), "other"));
  CHECK_FALSE(sums.differ());
}

}  // namespace
}  // namespace looseleaf::compare
